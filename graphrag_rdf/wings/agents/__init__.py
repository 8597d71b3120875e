"""Agents: ReAct, plan and execute, supervisors, with tools and teams."""
