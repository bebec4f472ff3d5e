/* Compiled grid of a number: the same operations in the same order as `cell_codes` of plain.py. */
#include "_buffers.h"

static void write_codes(uint16_t *restrict out, const double *restrict values, Py_ssize_t n, double low, double high,
                        double n_cells)
{
    const double width = high - low, last = n_cells - 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const double value = values[i];
        double clamped = value > low ? value : low; /* NaN becomes low, and its code is replaced below */
        clamped = clamped < high ? clamped : high;
        double cell = (clamped - low) / width * n_cells;
        cell = cell < last ? cell : last;
        const int32_t code = (int32_t)cell + 1;
        out[i] = (uint16_t)(value == value ? code : 0);
    }
}

PyObject *cell_codes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *out_, *values_;
    double low, high;
    Py_ssize_t n_cells;
    Held held;
    if (!PyArg_ParseTuple(args, "OOddn", &out_, &values_, &low, &high, &n_cells) || !hold(&held, 2))
        return NULL;
    if (!(low < high && high - low <= DBL_MAX && n_cells >= 1 && n_cells < 65536))
        return answer(&held, 0);
    const Py_buffer *values = take(&held, values_, 'd', 1, 0);
    if (!columns_contiguous(values))
        return answer(&held, 0);
    const Py_buffer *out = take(&held, out_, 'H', 1, 1);
    if (!has_rows(out, values->shape[0]))
        return answer(&held, 0);
    Py_BEGIN_ALLOW_THREADS
    write_codes(out->buf, values->buf, values->shape[0], low, high, (double)n_cells);
    Py_END_ALLOW_THREADS
    return answer(&held, 1);
}
