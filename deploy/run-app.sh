#!/bin/sh
# The image's entry point: replaces itself by the app that the first argument names.
set -eu
if [ ! -f "apps/${1:-}/main.ts" ]; then
  echo "expected one of these roles as the first argument: $(ls apps | tr '\n' ' ')" >&2
  exit 2
fi
exec node "apps/$1/main.ts"
