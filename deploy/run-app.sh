#!/bin/sh
# The image's entry point: replaces itself by the app that the first argument names, with the arguments after it.
set -eu
if [ ! -f "apps/${1:-}/main.ts" ]; then
  echo "expected one of these roles as the first argument: $(ls apps | tr '\n' ' ')" >&2
  exit 2
fi
app=$1
shift
exec node "apps/$app/main.ts" "$@"
