"""What the steps of the pipelines write into traces, and how it is shown: a module for each kind of node."""

from graphrag_rdf.steps.nodes.exploration import EXPLORATION
from graphrag_rdf.steps.nodes.focus import FOCUS_NODE
from graphrag_rdf.steps.nodes.grounding import GROUNDING
from graphrag_rdf.steps.nodes.synthesis import SYNTHESIS
from graphrag_rdf.trace.kinds import register

register(GROUNDING, EXPLORATION, FOCUS_NODE, SYNTHESIS)
