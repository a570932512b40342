#!/usr/bin/env bash
# The manual procedure that tpuwright replaces, as people follow it today from a guide: one ssh key copied to host 0,
# a list of addresses typed by hand, a fan-out script on Fabric, a set-up script copied to every host and run there.
# Prints one line a step, in seconds, and a total, and leaves the hosts as it found them (the caller removes them).
#
# usage: manual_procedure.sh LOGIN PRIVATE_KEY JAX_VERSION HOST0 HOST1 ...   (addresses that this machine can ssh to)
set -euo pipefail
login=$1 key=$2 jax_version=$3
shift 3
hosts=("$@")
first=${hosts[0]}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The guide skips host keys; the bench does not need to, as its caller knows them.
options=(-i "$key" -o "UserKnownHostsFile=$key.known_hosts" -o LogLevel=ERROR -o BatchMode=yes)
# shellcheck disable=SC2029  # what is given is meant to be expanded here
on_first() { ssh "${options[@]}" "$login@$first" "$@"; }

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
  scp -q "${options[@]}" "$key" "$login@$first:.ssh/id_ed25519"
  scp -q "${options[@]}" "$key.known_hosts" "$login@$first:.ssh/known_hosts"
  printf '%s\n' "${hosts[@]:1}" | on_first 'cat > podips.txt'
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
