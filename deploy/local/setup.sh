#!/bin/sh
# Makes sure that parley can run here: Node 22, the locked dependencies and nats-server. Run by `npm start` and `npm test` before
# anything else, under whatever Node started npm; done once, it costs some milliseconds. `setup.sh test`: for the tests, which use
# a nats-server of their own even when NATS_URL is set.
set -eu

cd "$(dirname "$0")/../.."
stamp=node_modules/.parley-setup
marker=node_modules/.parley-installing
log=node_modules/.parley-install.log

say() { printf 'parley: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# What an installation depends on: the lock and the dependencies, and not e.g. the scripts of package.json.
fingerprint() {
  { cat package-lock.json; sed -n '/ependencies"/,/}/p' package.json; uname -sm; } | cksum
}

# --- dependencies

# npm leaves out the platform packages that do not fit the Node it runs under itself, so it has to run under Node 22 to bring the
# right uWebSockets.js. `npm install` and not `npm ci`: where a registry lacks other platforms' packages the lock cannot list
# them, and `npm ci` refuses such a lock.
install() {
  node_version=$(sed -n 's/^ *"node": "\([0-9][0-9.]*\)".*/\1/p' package.json)
  [ -n "$node_version" ] || die 'package.json names no version of the package "node"'
  lock_before=$(cksum <package-lock.json)
  say "installing Node $node_version and the dependencies, about 1.1 GB on disk; this is done once"
  mkdir -p node_modules
  echo $$ >"$marker"
  : >"$log"
  show_progress &
  progress=$!
  running=
  trap 'kill $progress 2>/dev/null || :' EXIT
  # npm answers Ctrl-C by finishing most of its work and undoing it. What is here is thrown away by the next start, so it can go
  # at once: it runs in the background, where Ctrl-C does not reach it.
  trap 'stop_install 130' INT
  trap 'stop_install 143' TERM HUP
  in_background npm exec --yes --package="node@$node_version" -- \
    node -p 'process.execPath + "\n" + process.env.npm_execpath' >"$marker.paths" || failed
  node_22=$(sed -n 1p "$marker.paths")
  npm_cli=$(sed -n 2p "$marker.paths")
  PATH=$(dirname "$node_22"):$PATH in_background "$node_22" "$npm_cli" install --no-audit --no-fund >>"$log" || failed
  kill $progress 2>/dev/null || :
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  [ "$(cksum <package-lock.json)" = "$lock_before" ] ||
    say 'WARNING: the installation CHANGED package-lock.json: what is installed is not what was locked. Look at the difference.'
  # The parts with machine code, loaded once: a platform without them is told now and not by a crash later.
  node_modules/.bin/node --input-type=module -e "
    await import('uWebSockets.js'); await import('ffi-rs'); (await import('chdb/libchdb')).default.libchdbPath()" 2>>"$log" ||
    die "no parts for $(uname -sm): parley runs on Linux (glibc 2.31 or newer; x64, arm64) and macOS. Details are in $log"
  fingerprint >"$stamp"
  rm -f "$marker" "$marker.paths"
  say "installed in $(($(date +%s) - started)) s"
}

in_background() {
  "$@" 2>>"$log" &
  running=$!
  wait $running
}

stop_install() {
  if [ -n "$running" ]; then kill -KILL "$running" 2>/dev/null || :; fi
  say 'the installation was interrupted; the next start does it again'
  exit "$1"
}

failed() {
  tail -n 15 "$log" >&2
  die "the installation failed; the whole output is in $log"
}

show_progress() {
  every=10
  if [ -t 2 ]; then every=2; fi
  ticks=0
  # Short sleeps, because the one that is running outlives this loop and holds the terminal or the log.
  while sleep 1; do
    ticks=$((ticks + 1))
    [ $((ticks % every)) = 0 ] || continue
    line="  $(($(date +%s) - started)) s, $(du -sm node_modules 2>/dev/null | cut -f1) MB"
    if [ -t 2 ]; then printf '\r\033[K%s' "$line" >&2; else printf '%s\n' "$line" >&2; fi
  done
}

started=$(date +%s)
if [ "$(cat "$stamp" 2>/dev/null)" != "$(fingerprint)" ] || [ ! -x node_modules/.bin/node ]; then
  if [ -f "$marker" ]; then
    other=$(cat "$marker")
    if kill -0 "$other" 2>/dev/null; then
      say "another installation (process $other) is at work here; waiting for it"
      while [ -f "$marker" ] && kill -0 "$other" 2>/dev/null; do sleep 1; done
    fi
    # It was interrupted: npm would take half-written packages for whole ones.
    [ -f "$marker" ] && rm -rf node_modules
  fi
  [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ] || install
fi

# --- test runner

# tap writes its test class anew for the plugins that .taprc names, and the very run that finds it stale still uses the old one: so
# it is written beforehand.
if [ "${1-}" = test ]; then
  tap_stamp=node_modules/.parley-tap
  if [ "$(cat "$tap_stamp" 2>/dev/null)" != "$(cksum <.taprc)" ] || [ ! -d .tap/plugins ]; then
    say 'preparing the test runner'
    PATH=$PWD/node_modules/.bin:$PATH node_modules/.bin/tap build >>"$log" 2>&1 || die "tap cannot be prepared. Details are in $log"
    cksum <.taprc >"$tap_stamp"
  fi
fi

# --- nats-server

[ "${1-}" = test ] || [ -z "${NATS_URL-}" ] || exit 0

# Debian keeps it in /usr/sbin, which is not on the PATH of ordinary users.
PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin
has_nats() { command -v nats-server >/dev/null 2>&1; }
has_nats && exit 0

if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root='sudo -n'
  else
    as_root=no
  fi
  if [ "$as_root" != no ]; then
    say 'installing nats-server (apt-get install nats-server)'
    apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >>"$log" 2>&1; }
    # The package lists may be old or, in a container, absent.
    apt install --no-install-recommends nats-server ||
      { apt update && apt install --no-install-recommends nats-server; } ||
      { tail -n 5 "$log" >&2; say "apt-get could not install it; the output is in $log"; }
    has_nats && exit 0
  fi
fi

cat >&2 <<'TEXT'
parley: nats-server is missing. Install it and start again:
  Debian, Ubuntu   sudo apt-get install nats-server
  macOS            brew install nats-server
  a container      docker run -d -p 4222:4222 nats -js     and   NATS_URL=nats://127.0.0.1:4222 npm start
TEXT
exit 1
