/* Buffers of numpy arrays, taken one by one and given back together; what the kernels share.
 *
 * A kernel returns True when it did the work and False, with nothing written, when a layout does not fit: the caller
 * then uses plain.py. */
#ifndef DPCATE_BUFFERS_H
#define DPCATE_BUFFERS_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "floats must be rounded after each operation; plain.py is used instead"
#endif

/* Rows are worked through in blocks that stay in the cache, and columns in groups that share a pass. */
enum { BLOCK = 4096, GROUP = 4 };

#define AT_MOST(a, b) ((a) < (b) ? (a) : (b))

PyObject *add_counts(PyObject *module, PyObject *args);
PyObject *add_weighted_counts(PyObject *module, PyObject *args);
PyObject *cell_codes(PyObject *module, PyObject *args);

typedef struct {
    Py_buffer *views;
    Py_ssize_t n, room;
} Held;

static inline int hold(Held *held, Py_ssize_t room)
{
    held->n = 0;
    held->room = room;
    held->views = PyMem_Calloc(room > 0 ? (size_t)room : 1, sizeof(Py_buffer));
    if (held->views == NULL)
        PyErr_NoMemory();
    return held->views != NULL;
}

static inline void give_back(Held *held)
{
    while (held->n > 0)
        PyBuffer_Release(&held->views[--held->n]);
    PyMem_Free(held->views);
}

static inline int has_kind(const Py_buffer *view, char kind)
{
    const char *format = view->format;
    if (format == NULL || format[0] == '\0' || format[1] != '\0')
        return 0;
    if (kind == 'q') /* a 64-bit integer is a long here and a long long there */
        return (format[0] == 'q' || format[0] == 'l') && view->itemsize == 8;
    return format[0] == kind && view->itemsize == (kind == 'H' ? 2 : 8);
}

static inline int is_aligned(const Py_buffer *view)
{
    int fits = (uintptr_t)view->buf % (uintptr_t)view->itemsize == 0;
    for (int axis = 0; axis < view->ndim; axis++)
        fits &= view->shape[axis] < 2 || view->strides[axis] % view->itemsize == 0;
    return fits;
}

/* The next buffer, or NULL when the object is not one of the right kind; leaves no exception. */
static inline const Py_buffer *take(Held *held, PyObject *object, char kind, int ndim, int writable)
{
    if (held->n >= held->room)
        return NULL;
    Py_buffer *view = &held->views[held->n];
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) < 0) {
        PyErr_Clear();
        return NULL;
    }
    held->n++;
    return view->ndim == ndim && has_kind(view, kind) && is_aligned(view) ? view : NULL;
}

static inline const Py_buffer *take_item(Held *held, PyObject *sequence, Py_ssize_t i, char kind, int ndim, int writable)
{
    PyObject *item = PySequence_GetItem(sequence, i);
    const Py_buffer *view = item == NULL ? NULL : take(held, item, kind, ndim, writable);
    Py_XDECREF(item); /* the view keeps its own reference */
    PyErr_Clear();
    return view;
}

static inline int columns_contiguous(const Py_buffer *view)
{
    return view != NULL && (view->shape[0] < 2 || view->strides[0] == view->itemsize);
}

static inline int has_rows(const Py_buffer *view, Py_ssize_t n)
{
    return columns_contiguous(view) && view->shape[0] == n;
}

static inline int rows_contiguous(const Py_buffer *view, Py_ssize_t width)
{
    return view != NULL && view->shape[1] == width && (width < 2 || view->strides[1] == view->itemsize) &&
           (view->shape[0] < 2 || view->strides[0] == width * view->itemsize);
}

/* -1 for what has no length, which no width equals. */
static inline Py_ssize_t length(PyObject *sequence)
{
    Py_ssize_t n = PySequence_Size(sequence);
    PyErr_Clear();
    return n;
}

static inline const uint16_t *code_column(const Py_buffer *codes, Py_ssize_t j)
{
    return (const uint16_t *)((const char *)codes->buf + (j == 0 ? 0 : j * codes->strides[1]));
}

/* 0: the layouts do not fit; 1: done; -1: a code was too large. */
static inline PyObject *answer(Held *held, int outcome)
{
    give_back(held);
    if (outcome < 0) {
        PyErr_SetString(PyExc_IndexError, "A code is beyond the end of its table.");
        return NULL;
    }
    return PyBool_FromLong(outcome);
}

#endif
