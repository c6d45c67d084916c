"""Which losses are refused; their values are tested with the forms that compute them."""

import pytest

from graphgate.errors import InputError
from graphgate.nn.losses import Loss

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize(
    "settings",
    [
        {"feature_form": "l1"},
        {"feature_weight": -1.0},
        {"structure_weight": float("nan")},
        {"structure_weight": float("inf")},
        {"feature_weight": 0.0, "structure_weight": 0.0},
    ],
)
def test_impossible_losses_are_refused(settings):
    with pytest.raises(InputError):
        Loss(**settings)
