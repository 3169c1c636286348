# Becomes systemd, as the first process of its PID namespace, over its own root: the machine writes
# to memory, and cannot reach anything outside. $1: an empty directory; $2, $3, $4: the project, the
# packages and the Python that appear in /opt.
set -eu
test "$$" = 1
dir=$1
mount --make-rprivate /
mount -t tmpfs tmpfs "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
root=$dir/root

mount -t proc proc "$root/proc"
# Writes to these files would affect the whole kernel.
for file in sys sysrq-trigger; do
    test -e "$root/proc/$file" || continue
    mount --bind "$root/proc/$file" "$root/proc/$file"
    mount -o remount,bind,ro "$root/proc/$file"
done
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for file in null zero full random urandom tty; do
    touch "$root/dev/$file"
    mount --bind "/dev/$file" "$root/dev/$file"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$root/var/tmp"

# Of the host's units, only the journal is started.
hidden="etc/systemd/system"
for base in etc/systemd usr/lib/systemd lib/systemd; do
    hidden="$hidden $base/system.conf.d $base/system-generators"
    for target in sysinit local-fs sockets timers; do
        hidden="$hidden $base/system/$target.target.wants"
    done
done
for name in $hidden; do
    if test -d "$root/$name"; then
        mount -t tmpfs -o mode=755 tmpfs "$root/$name"
    fi
done
units=$root/etc/systemd/system
mkdir -p "$units/sockets.target.wants"
for unit in systemd-journald.socket systemd-journald-dev-log.socket; do
    ln -s "/usr/lib/systemd/system/$unit" "$units/sockets.target.wants/$unit"
done

for name in project packages python; do
    mkdir -p "$root/opt/$name"
    mount --bind "$2" "$root/opt/$name"
    mount -o remount,bind,ro "$root/opt/$name"
    shift
done

ip link set lo up
cd "$root"
mkdir -p "$root/mnt/outside"
pivot_root . mnt/outside
cd /
umount -l /mnt/outside
# Mounts propagate inside the machine, as on any machine. systemd's credentials need this.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=basic.target --show-status=no --log-target=journal
