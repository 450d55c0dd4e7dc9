#!/usr/bin/env bash
# Installs the programs that the tests run: a browser, PostgreSQL, Alertmanager and npm, and with the argument "nightly" Prometheus. On
# Debian and Ubuntu it uses apt-get, with sudo if necessary; elsewhere it names what is missing and stops.
set -euo pipefail

packages=()
problems=()
need() { # need PACKAGE COMMAND-THAT-PROVES-IT DESCRIPTION
  if ! eval "$2" >/dev/null 2>&1; then
    packages+=("$1")
    problems+=("$3")
  fi
}
need chromium 'command -v chromium' "Chromium (browser tests of the page and the Temporal UI)"
need postgresql "compgen -G '/usr/lib/postgresql/*/bin/initdb' || command -v initdb" "PostgreSQL's server programs (tests of the store)"
need prometheus-alertmanager 'command -v prometheus-alertmanager' "Alertmanager (tests of webhooks)"
need npm 'command -v npm' "npm (MCP servers that are tested against)"
[ "${1:-}" != nightly ] || need prometheus 'command -v prometheus' "Prometheus (the test of a newcomer's first hour)"
[ ${#packages[@]} -eq 0 ] && exit 0

printf 'The tests need:\n' >&2
printf '  - %s\n' "${problems[@]}" >&2
if ! command -v apt-get >/dev/null; then
  echo 'Install these, then run "make test" again.' >&2
  exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing: ${packages[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}" >/dev/null
