#!/usr/bin/env bash
# Runs tests with gotestsum, as one phase of `make test` or `make nightly`: test/phase.sh NAME GOTESTSUM-ARGUMENTS...
# It prints the phase's name, its duration, its ten slowest tests, and a line "flaky: …" for each test that failed and then passed.
# bin/tests/NAME.xml is the JUnit report, and bin/tests/NAME.json has all output.
set -uo pipefail
cd "$(dirname "$0")/.."

name=$1
shift
out=bin/tests/$name
mkdir -p bin/tests
rm -f "$out".*
echo "=== $name"
start=$SECONDS
bin/gotestsum --format pkgname --format-hide-empty-pkg --hide-summary=skipped \
  --junitfile "$out.xml" --junitfile-hide-empty-pkg --jsonfile "$out.json" --rerun-fails-report "$out.reruns" "$@"
rc=$?
echo "=== $name: $((SECONDS - start)) s, exit code $rc; the slowest tests:"
bin/gotestsum tool slowest --num 10 --jsonfile "$out.json"
[ ! -s "$out.reruns" ] || sed '/^[[:space:]]*$/d; s/^/flaky: /' "$out.reruns"
exit $rc
