/* Compiled counting: how many rows, or what total of whole weights, each code has.
 *
 * Sums are of 64-bit integers, so the order of the rows does not matter and nothing is rounded. */
#include "_buffers.h"

/* One block of weights as integers; both weights of a row stand together. */
typedef struct {
    uint64_t entries[2 * BLOCK];
} Block;

/* Weights must be whole and small; others get a fixed value here rather than undefined behaviour. */
static inline uint64_t whole(double weight)
{
    return (uint64_t)(weight >= -0x1p63 && weight < 0x1p63 ? (int64_t)weight : INT64_MIN);
}

static void fill(Block *block, const Py_buffer *weights, Py_ssize_t start, Py_ssize_t n, int k)
{
    for (int l = 0; l < k; l++) {
        const double *column = (const double *)weights[l].buf + start;
        for (Py_ssize_t i = 0; i < n; i++)
            block->entries[k * i + l] = whole(column[i]);
    }
}

/* Called with constant `width` and `k`, so that the inner loops unroll. */
static inline int count_columns(const Py_buffer *counts, const Py_buffer *codes, const Block *block, Py_ssize_t first,
                                Py_ssize_t start, Py_ssize_t n, const int width, const int k)
{
    const uint16_t *column[GROUP];
    uint64_t *table[GROUP];
    Py_ssize_t end[GROUP];
    for (int j = 0; j < width; j++) {
        column[j] = code_column(codes, first + j) + start;
        table[j] = counts[first + j].buf;
        end[j] = counts[first + j].shape[0];
    }
    for (Py_ssize_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++) {
            const uint16_t code = column[j][i];
            if (code >= end[j])
                return -1;
            for (int l = 0; l < k; l++)
                table[j][k * code + l] += block == NULL ? 1 : block->entries[k * i + l];
        }
    return 1;
}

static inline int count_group(const Py_buffer *counts, const Py_buffer *codes, const Block *block, Py_ssize_t first,
                              Py_ssize_t start, Py_ssize_t n, const int k)
{
    switch (AT_MOST(codes->shape[1] - first, GROUP)) {
    case 1: return count_columns(counts, codes, block, first, start, n, 1, k);
    case 2: return count_columns(counts, codes, block, first, start, n, 2, k);
    case 3: return count_columns(counts, codes, block, first, start, n, 3, k);
    default: return count_columns(counts, codes, block, first, start, n, 4, k);
    }
}

static int count_block(const Py_buffer *counts, const Py_buffer *codes, const Block *block, Py_ssize_t start,
                       Py_ssize_t n, int k)
{
    for (Py_ssize_t first = 0; first < codes->shape[1]; first += GROUP) {
        const int outcome = block == NULL ? count_group(counts, codes, NULL, first, start, n, 1)
                            : k == 1      ? count_group(counts, codes, block, first, start, n, 1)
                                          : count_group(counts, codes, block, first, start, n, 2);
        if (outcome < 0)
            return -1;
    }
    return 1;
}

static int count_all(const Py_buffer *counts, const Py_buffer *codes, Block *block, const Py_buffer *weights, int k)
{
    for (Py_ssize_t start = 0; start < codes->shape[0]; start += BLOCK) {
        const Py_ssize_t n = AT_MOST(codes->shape[0] - start, BLOCK);
        if (block != NULL)
            fill(block, weights, start, n, k);
        if (count_block(counts, codes, block, start, n, k) < 0)
            return -1;
    }
    return 1;
}

PyObject *add_counts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *counts_, *codes_;
    Held held;
    if (!PyArg_ParseTuple(args, "OO", &counts_, &codes_))
        return NULL;
    const Py_ssize_t width = length(counts_);
    if (!hold(&held, width + 1))
        return NULL;
    const Py_buffer *codes = take(&held, codes_, 'H', 2, 0);
    if (!columns_contiguous(codes) || codes->shape[1] != width)
        return answer(&held, 0);
    for (Py_ssize_t j = 0; j < width; j++)
        if (!columns_contiguous(take_item(&held, counts_, j, 'q', 1, 1)))
            return answer(&held, 0);
    int outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = count_all(codes + 1, codes, NULL, NULL, 1);
    Py_END_ALLOW_THREADS
    return answer(&held, outcome);
}

static int weigh_held(Held *held, PyObject *counts_, PyObject *codes_, PyObject *weights_)
{
    const Py_ssize_t width = length(counts_), k = length(weights_);
    const Py_buffer *codes = take(held, codes_, 'H', 2, 0);
    if (!columns_contiguous(codes) || codes->shape[1] != width || k < 1 || k > 2)
        return 0;
    for (Py_ssize_t j = 0; j < width; j++)
        if (!rows_contiguous(take_item(held, counts_, j, 'q', 2, 1), k))
            return 0;
    for (Py_ssize_t l = 0; l < k; l++)
        if (!has_rows(take_item(held, weights_, l, 'd', 1, 0), codes->shape[0]))
            return 0;
    Block *block = PyMem_Malloc(sizeof(Block));
    if (block == NULL)
        return 0;
    int outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = count_all(codes + 1, codes, block, codes + 1 + width, (int)k);
    Py_END_ALLOW_THREADS
    PyMem_Free(block);
    return outcome;
}

PyObject *add_weighted_counts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *counts, *codes, *weights;
    Held held;
    if (!PyArg_ParseTuple(args, "OOO", &counts, &codes, &weights))
        return NULL;
    const Py_ssize_t n_weights = length(weights);
    if (!hold(&held, length(counts) + AT_MOST(n_weights, 2) + 1))
        return NULL;
    return answer(&held, weigh_held(&held, counts, codes, weights));
}
