#!/bin/sh
# The image's entry point: runs the app that the first argument names, with the other arguments. It works in any working
# folder.
set -eu
root=$(dirname "$(dirname "$0")")
if [ ! -f "$root/apps/${1:-}/main.ts" ]; then
  echo "expected one of these roles as the first argument: $(ls "$root/apps" | tr '\n' ' ')" >&2
  exit 2
fi
app=$1
shift

# The app must not be process 1 of its container: the kernel drops a signal for which process 1 has no handler, and an
# app has no handler while it loads its code. A pod that is deleted in its first seconds would then run, and take work,
# until its grace period ends. So this shell is process 1: it passes signals on and exits with the app's status.
child=
forward() {
  [ -n "$child" ] || exit $((128 + $2))
  kill -s "$1" "$child" 2>/dev/null || true
}
trap 'forward TERM 15' TERM
trap 'forward INT 2' INT
# A command in the background has no standard input unless it is given one.
exec 3<&0
node "$root/apps/$app/main.ts" "$@" <&3 &
child=$!
exec 3<&-
while :; do
  status=0
  wait "$child" || status=$?
  # `wait` also returns when a signal arrives; then the app may still run.
  kill -0 "$child" 2>/dev/null || exit "$status"
done
