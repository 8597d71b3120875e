"""A table of the settings file, of the core or of a wing."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

NONE_IS_A_WAY = BeforeValidator(lambda value: "none" if value is None else value)
"""Settings read `none` as no value; where it is one of several ways, it is its name."""


class Section(BaseModel):
    """A table of the settings file. Its docstring is `[name] - what it is about`.

    Attributes:
        in_store: whether the store may have its settings: not those of locations, of this computer's
            resources and of permissions, since write access to a store is not enough to change them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    in_store: ClassVar[bool] = True
