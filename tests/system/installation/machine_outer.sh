# Starts a machine (machine_boot.sh) in its own namespaces. Ends it when standard input is closed,
# also because the parent process has died. Prints the id of the process below which systemd runs.
# $1: an empty directory; $2, $3, $4: as for machine_boot.sh.
set -eu
dir=$1
here=$(dirname "$0")
mount --make-rprivate /
mkdir "$dir/cgroup" "$dir/machine"
mount -t cgroup2 cgroup2 "$dir/cgroup"
group=$dir/cgroup/tocsin-test-$$
mkdir "$group"
(
    echo "$BASHPID" > "$group/cgroup.procs"
    umount "$dir/cgroup"
    exec unshare --pid --fork --kill-child --mount --cgroup --net --uts --ipc \
        bash "$here/machine_boot.sh" "$dir/machine" "$2" "$3" "$4"
) < /dev/null &
child=$!
echo "$child"
cat > /dev/null
kill -KILL "$child" || true
wait || true
mountpoint -q "$dir/cgroup" || mount -t cgroup2 cgroup2 "$dir/cgroup"
for _ in $(seq 100); do
    find "$group" -depth -type d -exec rmdir {} + 2> /dev/null && exit
    sleep 0.05
done
