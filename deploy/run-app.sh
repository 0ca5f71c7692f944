#!/bin/sh
# The image's entry point: runs the app that the first argument names, with the other arguments.
set -eu
if [ ! -f "apps/${1:-}/main.ts" ]; then
  echo "expected one of these roles as the first argument: $(ls apps | tr '\n' ' ')" >&2
  exit 2
fi
app=$1
shift
exec node "apps/$app/main.ts" "$@"
