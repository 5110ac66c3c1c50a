# Creates a controller in $dir with jujud's command $verb, from the binaries in $dir/programs.tar.gz and the parameters in
# $dir/bootstrap.json, which the backup in $dir/backup follows if that is restored. Writes jujud's output to
# $dir/bootstrapped.json, and errors to $dir/bootstrap.log. It can be run again with the same input.
set -eu
umask 022
exec >"$dir/bootstrap.log" 2>&1
tools=$dir/tools/controller
mkdir -p "$tools"
tar -xz --no-same-owner -C "$tools" -f "$dir/programs.tar.gz"
rm "$dir/programs.tar.gz"
set -- "$dir/bootstrap.json"
[ "$verb" = bootstrap ] || set -- "$@" "$dir/backup"
input=$(cat "$@" | sha256sum)
failed=0
if [ "$(cat "$dir/bootstrapped.from" 2>/dev/null)" != "$input" ]; then
	(umask 077 && cat "$@" | "$tools/jujud" "$verb" --dir "$dir" >"$dir/bootstrapped.json") || failed=$?
fi
rm "$@" # they contain passwords
[ "$failed" = 0 ] || exit "$failed"
echo "$input" >"$dir/bootstrapped.from"
