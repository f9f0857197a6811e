"""Samples and parts of graphs, against what MXNet 1.9.1 gives, and what a sample must be."""

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import IndexOutOfBoundsError, InvalidArgumentError

contrib = mx.nd.contrib


def ids(*values):
    return mx.nd.array(values, dtype="int64")


@pytest.fixture
def small():
    dense = np.array([[1, 0, 0, 2], [3, 0, 4, 0], [0, 5, 0, 0], [0, 6, 7, 0]])
    return mx.nd.sparse.csr_matrix(dense, dtype="int64")


@pytest.fixture
def full():
    """Five vertices with an edge to each other one, numbered from 1 on."""
    columns = [j for i in range(5) for j in range(5) if i != j]
    parts = (np.arange(1, 21), columns, np.arange(0, 21, 4))
    return mx.nd.sparse.csr_matrix(parts, shape=(5, 5), dtype="int64")


def stored(graph):
    return [getattr(graph, part).asnumpy().tolist() for part in ("data", "indices", "indptr")]


def test_subgraphs_have_numbers_of_their_own_and_the_graphs(small):
    lists = [ids(0, 1, 2), ids(1, 3)]
    found = contrib.dgl_subgraph(small, *lists, return_mapping=True)
    assert [g.shape for g in found] == [(3, 3), (2, 2)] * 2
    assert all(g.stype == "csr" and g.dtype == np.int64 for g in found)
    assert stored(found[0]) == [[0, 1, 2, 3], [0, 0, 2, 1], [0, 1, 3, 4]]
    assert stored(found[1]) == [[0], [0], [0, 0, 1]]
    assert stored(found[2]) == [[1, 3, 4, 5], [0, 0, 2, 1], [0, 1, 3, 4]]
    assert stored(found[3]) == [[6], [0], [0, 0, 1]]
    alone = contrib.dgl_subgraph(small, ids(0, 1, 2), return_mapping=False)
    assert stored(alone) == stored(found[0])


def test_adjacency_and_edges(small):
    ones = contrib.dgl_adjacency(small)
    assert ones.stype == "csr"
    assert ones.dtype == np.float32
    np.testing.assert_array_equal(ones.asnumpy(), small.asnumpy() != 0)
    found = contrib.edge_id(small, ids(0, 0, 1, 3), ids(0, 1, 2, 2))
    assert found.asnumpy().tolist() == [1, -1, 4, 7]
    real = contrib.edge_id(small.astype("float32"), mx.nd.array([3]), mx.nd.array([1]))
    assert (real.dtype, real.asnumpy().tolist()) == (np.float32, [6])


@pytest.mark.parametrize("weights", [None, [0.9, 0.8, 0.2, 0.4, 0.1]])
@pytest.mark.parametrize("hops", [1, 2])
def test_samples_take_edges_that_there_are(full, weights, hops):
    mx.random.seed(5)
    attrs = {"num_hops": hops, "num_neighbor": 2, "max_num_vertices": 7}
    if weights is None:
        found = contrib.dgl_csr_neighbor_uniform_sample(full, ids(3, 0), ids(1), **attrs)
    else:
        sample = contrib.dgl_csr_neighbor_non_uniform_sample
        found = sample(full, mx.nd.array(weights), ids(3, 0), ids(1), **attrs)
        for vertices, own in zip(found[:2], found[4:6], strict=True):
            n = vertices.asnumpy()[-1]
            expected = np.float32(weights)[vertices.asnumpy()[:n]]
            np.testing.assert_array_equal(own.asnumpy(), [*expected, *[0] * (7 - n)])
    for vertices, graph, layer in zip(found[:2], found[2:4], found[-2:], strict=True):
        *some, n = vertices.asnumpy().tolist()
        some, layers, table = some[:n], layer.asnumpy()[:n], graph.asnumpy()
        assert table.shape == (7, 5)
        assert some == sorted(set(some))
        assert not table[n:].any()
        for vertex, layer_of, row in zip(some, layers, table, strict=False):
            taken = np.flatnonzero(row)
            assert len(taken) == (2 if layer_of < hops else 0)
            np.testing.assert_array_equal(row[taken], full.asnumpy()[vertex][taken])
            assert set(taken) <= set(some)


def test_a_sample_ends_with_its_most_vertices(full):
    sample = contrib.dgl_csr_neighbor_uniform_sample
    ids_, graph, _ = sample(full, ids(0, 1, 2, 3, 4), max_num_vertices=5)
    assert ids_.asnumpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert stored(graph)[0] == []
    ids_, graph, layer = sample(full, ids(0), num_neighbor=9, max_num_vertices=6)
    assert ids_.asnumpy().tolist() == [0, 1, 2, 3, 4, 0, 5]
    assert layer.asnumpy().tolist() == [0, 1, 1, 1, 1, 0]
    assert stored(graph) == [[1, 2, 3, 4], [1, 2, 3, 4], [0, *[4] * 6]]


def test_weights_make_vertices_likely(full):
    mx.random.seed(1)
    sample, weights = contrib.dgl_csr_neighbor_non_uniform_sample, mx.nd.array([1, 0, 1, 6, 0])
    counts = np.zeros(5)
    for _ in range(200):
        graph = sample(full, weights, ids(4), num_neighbor=1, max_num_vertices=3)[1]
        counts += (graph.asnumpy() != 0).sum(0)
    assert counts[1] == counts[4] == 0
    assert 0.6 < counts[3] / counts.sum() < 0.9


def test_compact_graphs_have_the_vertices_of_a_sample(full):
    mx.random.seed(2)
    sample = contrib.dgl_csr_neighbor_uniform_sample
    vertices, graph, _ = sample(full, ids(0, 3), num_neighbor=1, max_num_vertices=6)
    n = int(vertices.asnumpy()[-1])
    attrs = {"graph_sizes": (n,), "return_mapping": True}
    own, mapping = contrib.dgl_graph_compact(graph, vertices, **attrs)
    assert own.shape == mapping.shape == (n, n)
    expected = graph.asnumpy()[:n, vertices.asnumpy()[:n]]
    np.testing.assert_array_equal(mapping.asnumpy(), expected)
    assert stored(own) == [list(range(len(stored(own)[0]))), *stored(mapping)[1:]]


def test_what_is_no_graph_is_refused(small):
    with pytest.raises(InvalidArgumentError, match="csr"):
        contrib.edge_id(mx.nd.ones((2, 2)), ids(0), ids(0)).asnumpy()
    with pytest.raises(InvalidArgumentError, match="int64"):
        contrib.dgl_adjacency(small.astype("float32"))
    with pytest.raises(InvalidArgumentError, match="in order"):
        contrib.dgl_subgraph(small, ids(2, 0), return_mapping=False)
    with pytest.raises(IndexOutOfBoundsError, match="vertex 9"):
        contrib.edge_id(small, ids(9), ids(0))
    with pytest.raises(InvalidArgumentError, match="graph_sizes"):
        contrib.dgl_graph_compact(small, ids(0, 1), graph_sizes=(5,), return_mapping=False)
