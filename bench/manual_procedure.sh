#!/usr/bin/env bash
# The manual procedure that tpuwright replaces, as people follow it today from a guide: one ssh key copied to host 0,
# a list of addresses typed by hand, a fan-out script on Fabric, a set-up script copied to every host and run there.
# Prints one line a step, in seconds, and a total, and leaves the hosts to its caller.
#
# usage: manual_procedure.sh SSH_CONFIG KEY JAX_VERSION HOST0 ADDRESS0 ADDRESS1 ...
#   SSH_CONFIG  what people edit by hand: how HOST0 is reached from here, and the hosts' keys (the guide skips those)
#   KEY         the private key; the procedure copies it to host 0, as the guide does
#   ADDRESS...  the hosts' internal addresses, host 0 first
set -euo pipefail
config=$1 key=$2 jax_version=$3 first=$4
shift 4
addresses=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

on_first() { ssh -F "$config" -o LogLevel=ERROR "$first" "$@"; }

seconds_since() { # tenths are enough
  local tenths=$((($(date +%s%N) - $1) / 100000000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

step() {
  local name=$1 started
  shift
  started=$(date +%s%N)
  if ! "$@" >"$work/log" 2>&1; then
    tail -n 20 "$work/log" >&2
    echo "manual_procedure.sh: the step '$name' failed" >&2
    exit 1
  fi
  printf '%-36s %8s\n' "$name" "$(seconds_since "$started")"
}

connect_hosts() { # host 0 gets the key, so that it can reach the others, and the list of their addresses
  scp -q -F "$config" "$key" "$first:.ssh/id_ed25519"
  printf '%s\n' "${addresses[@]:1}" | on_first 'cat > podips.txt'
  # shellcheck disable=SC2016  # the loop runs on host 0
  on_first 'for ip in $(cat podips.txt) 127.0.0.1; do ssh-keyscan -t ed25519 "$ip"; done > .ssh/known_hosts 2> /dev/null'
}

install_podrun() {
  on_first 'sudo apt-get update -qq && sudo DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-pip'
  on_first 'pip3 install -q --break-system-packages fabric || pip3 install -q fabric'
  on_first 'cat > podrun && chmod +x podrun' <<'PODRUN'
#!/usr/bin/env python3
import os, shlex, sys

import fabric

options, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1 :]
hosts = open(os.path.expanduser("~/podips.txt")).read().split() + (["127.0.0.1"] if "i" in options else [])
line = " ".join(shlex.quote(word) for word in command)
if "c" in options:
    line = "sudo rm -rf /tmp/libtpu_lockfile /tmp/tpu_logs; " + line
with fabric.ThreadingGroup(*hosts) as group:
    group.run(line)
PODRUN
}

write_setup() {
  on_first "cat > setup.sh && chmod +x setup.sh" <<SETUP
#!/bin/bash
set -e
export DEBIAN_FRONTEND=noninteractive
sudo -E apt-get update -y -qq
sudo -E apt-get upgrade -y -qq
sudo -E apt-get install -y -qq golang neofetch zsh byobu mosh git
sudo -E apt-get install -y -qq software-properties-common
sudo -E apt-get install -y -qq python3.11-full python3.11-dev
sudo chsh "\$USER" -s /usr/bin/zsh
python3.11 -m venv ~/venv
. ~/venv/bin/activate
pip install -q -U pip
pip install -q -U wheel
pip install -q "jax[tpu]==$jax_version"
SETUP
  # shellcheck disable=SC2016  # the loop runs on host 0
  on_first 'for ip in $(cat podips.txt); do scp -q setup.sh "$ip:"; done'
}

look_at_devices() {
  on_first "./podrun -ic -- env JAX_PLATFORMS=cpu ./venv/bin/python -c 'import jax; print(jax.devices())'"
}

begun=$(date +%s%N)
step "connect the hosts" connect_hosts
step "fabric and podrun on host 0" install_podrun
step "podrun echo" on_first './podrun -i -- echo meow'
step "setup.sh to every host" write_setup
step "setup.sh on every host" on_first './podrun -i -- ./setup.sh'
step "jax.devices() on every host" look_at_devices
printf '%-36s %8s\n' "in all" "$(seconds_since "$begun")"
