"""The paper's per-node sums, word for word: slow, dense, and sharing no code with the package."""

from __future__ import annotations

import torch


def dense_loss(x, adjacency, model, activation, feature_form, feature_weight, structure_weight):
    """Loss of eq. 9. x (N, F), adjacency[u, v] the weight of u -> v, both dense and double."""
    n, layers = len(x), len(model.encoder_weight)
    a = adjacency.clone()
    a.fill_diagonal_(1.0)
    neighborhood = [[j for j in range(n) if a[j, i] != 0] for i in range(n)]
    kind = model.architecture.attention

    def attention(m, v_s, v_r):
        alpha = [{} for _ in range(n)]
        for i in range(n):
            for j in neighborhood[i]:
                if kind == "softmax":
                    e = torch.sigmoid(a[j, i] * (v_s @ m[i] + v_r @ m[j]))
                    alpha[i][j] = torch.exp(e)
                else:
                    alpha[i][j] = torch.ones((), dtype=x.dtype)
            if kind != "ones":
                total = sum(alpha[i].values())
                alpha[i] = {j: value / total for j, value in alpha[i].items()}
        return alpha

    def mixed(alpha, m):
        return torch.stack([sum(alpha[i][j] * m[j] for j in neighborhood[i]) for i in range(n)])

    h, alphas = x, []
    for k in range(layers):
        m = activation(torch.stack([model.encoder_weight[k].T @ h[i] for i in range(n)]))
        vectors = (None, None)
        if kind == "softmax":
            vectors = (model.encoder_center[k], model.encoder_neighbor[k])
        alphas.append(attention(m, *vectors))
        h = mixed(alphas[k], m)
    embedding = h
    for k in reversed(range(layers)):
        weight = (
            model.encoder_weight[k]
            if model.architecture.tied_weights
            else model.decoder_weight[k].T
        )
        m = activation(torch.stack([weight @ h[i] for i in range(n)]))
        alpha = alphas[k]
        if kind == "softmax" and not model.architecture.shared_attention:
            alpha = attention(m, model.decoder_center[k], model.decoder_neighbor[k])
        h = mixed(alpha, m)

    def norm(vector):  # the gradient of a zero norm is zero
        square = (vector * vector).sum()
        return square.sqrt() if square > 0 else square * 0

    feature = sum(norm(x[i] - h[i]) for i in range(n)) if feature_form == "rows" else norm(x - h)
    structure = -sum(
        torch.log(1 / (1 + torch.exp(-(embedding[i] @ embedding[j]))))
        for i in range(n)
        for j in neighborhood[i]
    )
    return feature, structure, feature_weight * feature + structure_weight * structure, embedding
