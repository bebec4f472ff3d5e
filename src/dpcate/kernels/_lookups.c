/* Compiled forms of the loops in plain.py: lookups, and the module itself.
 *
 * Floats are added and multiplied in the order that plain.py uses, so results agree bit for bit. Every code is
 * compared with the length of its table before it is used. */
#include "_buffers.h"

/* Called with a constant `width` of at most GROUP, so that the inner loops unroll. */
static inline int add_columns(double *total, const Py_buffer *codes, const Py_buffer *tables, Py_ssize_t first,
                              Py_ssize_t start, Py_ssize_t n, const int width)
{
    const uint16_t *column[GROUP];
    const double *table[GROUP];
    Py_ssize_t end[GROUP];
    for (int j = 0; j < width; j++) {
        column[j] = code_column(codes, first + j) + start;
        table[j] = tables[first + j].buf;
        end[j] = tables[first + j].shape[0];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        double sum = total[start + i];
        for (int j = 0; j < width; j++) {
            const uint16_t code = column[j][i];
            if (code >= end[j])
                return -1;
            sum += table[j][code];
        }
        total[start + i] = sum;
    }
    return 1;
}

static int add_group(double *total, const Py_buffer *codes, const Py_buffer *tables, Py_ssize_t first,
                     Py_ssize_t start, Py_ssize_t n)
{
    switch (AT_MOST(codes->shape[1] - first, GROUP)) {
    case 1: return add_columns(total, codes, tables, first, start, n, 1);
    case 2: return add_columns(total, codes, tables, first, start, n, 2);
    case 3: return add_columns(total, codes, tables, first, start, n, 3);
    default: return add_columns(total, codes, tables, first, start, n, 4);
    }
}

static int add_all(double *total, const Py_buffer *codes, const Py_buffer *tables)
{
    const Py_ssize_t n = codes->shape[0];
    for (Py_ssize_t start = 0; start < n; start += BLOCK)
        for (Py_ssize_t first = 0; first < codes->shape[1]; first += GROUP)
            if (add_group(total, codes, tables, first, start, AT_MOST(n - start, BLOCK)) < 0)
                return -1;
    return 1;
}

static PyObject *add_lookups(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *total_, *codes_, *tables_;
    Held held;
    if (!PyArg_ParseTuple(args, "OOO", &total_, &codes_, &tables_))
        return NULL;
    const Py_ssize_t width = length(tables_);
    if (!hold(&held, width + 2))
        return NULL;
    const Py_buffer *codes = take(&held, codes_, 'H', 2, 0);
    if (!columns_contiguous(codes) || codes->shape[1] != width)
        return answer(&held, 0);
    const Py_buffer *total = take(&held, total_, 'd', 1, 1);
    if (!has_rows(total, codes->shape[0]))
        return answer(&held, 0);
    for (Py_ssize_t j = 0; j < width; j++)
        if (!columns_contiguous(take_item(&held, tables_, j, 'd', 1, 0)))
            return answer(&held, 0);
    int outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = add_all(total->buf, codes, total + 1);
    Py_END_ALLOW_THREADS
    return answer(&held, outcome);
}

static int scale_column(double *out, const uint16_t *codes, const Py_buffer *table, const double *scale, Py_ssize_t n)
{
    const double *entries = table->buf;
    const Py_ssize_t end = table->shape[0];
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint16_t code = codes[i];
        if (code >= end)
            return -1;
        out[i] = entries[code] * scale[i];
    }
    return 1;
}

static int scale_all(const Py_buffer *out, const Py_buffer *codes, const Py_ssize_t *columns, const Py_buffer *tables,
                     const double *scale)
{
    const Py_ssize_t n = codes->shape[0];
    for (Py_ssize_t start = 0; start < n; start += BLOCK)
        for (Py_ssize_t q = 0; q < out->shape[1]; q++) {
            double *target = (double *)((char *)out->buf + (q == 0 ? 0 : q * out->strides[1]));
            if (scale_column(target + start, code_column(codes, columns[q]) + start, &tables[q], scale + start,
                             AT_MOST(n - start, BLOCK)) < 0)
                return -1;
        }
    return 1;
}

/* The column numbers, in memory that the caller frees; NULL when one of them is not in [0, width). */
static Py_ssize_t *column_numbers(PyObject *sequence, Py_ssize_t n, Py_ssize_t width)
{
    Py_ssize_t *numbers = PyMem_Calloc((size_t)n + 1, sizeof(Py_ssize_t));
    int fits = numbers != NULL;
    for (Py_ssize_t q = 0; fits && q < n; q++) {
        PyObject *item = PySequence_GetItem(sequence, q);
        numbers[q] = item == NULL ? -1 : PyNumber_AsSsize_t(item, NULL);
        Py_XDECREF(item);
        fits = numbers[q] >= 0 && numbers[q] < width;
    }
    PyErr_Clear();
    if (fits)
        return numbers;
    PyMem_Free(numbers);
    return NULL;
}

static int scale_held(Held *held, PyObject *out_, PyObject *codes_, PyObject *columns_, PyObject *tables_,
                      PyObject *scale_)
{
    const Py_ssize_t width = length(tables_);
    const Py_buffer *codes = take(held, codes_, 'H', 2, 0);
    if (!columns_contiguous(codes) || length(columns_) != width)
        return 0;
    const Py_buffer *scale = take(held, scale_, 'd', 1, 0);
    if (!has_rows(scale, codes->shape[0]))
        return 0;
    const Py_buffer *out = take(held, out_, 'd', 2, 1);
    if (!has_rows(out, codes->shape[0]) || out->shape[1] != width)
        return 0;
    for (Py_ssize_t q = 0; q < width; q++)
        if (!columns_contiguous(take_item(held, tables_, q, 'd', 1, 0)))
            return 0;
    Py_ssize_t *columns = column_numbers(columns_, width, codes->shape[1]);
    if (columns == NULL)
        return 0;
    int outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = scale_all(out, codes, columns, out + 1, scale->buf);
    Py_END_ALLOW_THREADS
    PyMem_Free(columns);
    return outcome;
}

static PyObject *scaled_lookups(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *out, *codes, *columns, *tables, *scale;
    Held held;
    if (!PyArg_ParseTuple(args, "OOOOO", &out, &codes, &columns, &tables, &scale))
        return NULL;
    if (!hold(&held, length(tables) + 3))
        return NULL;
    return answer(&held, scale_held(&held, out, codes, columns, tables, scale));
}

static PyMethodDef methods[] = {
    {"add_lookups", add_lookups, METH_VARARGS, "Add the entry of each column's table to every row's total."},
    {"scaled_lookups", scaled_lookups, METH_VARARGS, "Write table entries times a scale."},
    {"add_counts", add_counts, METH_VARARGS, "Count the rows with each code."},
    {"add_weighted_counts", add_weighted_counts, METH_VARARGS, "Add the whole weights of the rows with each code."},
    {"cell_codes", cell_codes, METH_VARARGS, "Write the code of each value's cell."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_lookups", "Compiled forms of `dpcate.kernels.plain`.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__lookups(void)
{
    return PyModuleDef_Init(&definition);
}
