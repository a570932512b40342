"""Ansible module: only its documentation; the action of the same name does the work, on the controller."""

DOCUMENTATION = r"""
module: tpuwright_report
short_description: Judge what the role verify found, write the report and show it
options:
  stack: {type: str, required: true, description: "The stack's name."}
  directory: {type: path, required: true, description: "Where report.json and report.html go."}
  join_seconds: {type: int, required: true, description: "How long the processes waited for each other."}
  total_seconds: {type: int, required: true, description: "When the processes were ended."}
  min_free_gb: {type: float, required: true, description: "Free disk space that a host must have, GB."}
  max_clock_skew: {type: float, required: true, description: "Seconds that a host's clock may be off."}
"""
