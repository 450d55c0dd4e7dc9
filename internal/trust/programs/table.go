package programs

import "strings"

// table lists the known programs. Other programs run without checks, and validate warns about them.
var table = []Program{
	{Kind: Reads, Does: "reads and prints", Names: strings.Fields(`ls cat grep egrep fgrep zgrep head tail wc cut echo printf true false test
		[ : cd pwd basename dirname readlink realpath stat du df free uptime uname whoami id groups who w last ps pgrep pidof nproc arch lscpu
		lsblk lsmod lspci lsns tr rev tac nl paste join comm diff cmp md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum sum b2sum
		base64 base32 od hexdump hd strings seq sleep yes expr fold fmt pr column expand unexpand numfmt tsort look jq zcat bzcat xzcat
		netstat vmstat iostat mpstat getent getconf tty locale printenv cal nslookup dig host whois ping traceroute
		tracepath`)},
	starts("starts the given program", `env genv xargs gxargs nice nohup timeout stdbuf setsid setarch ionice chrt taskset
		time watch parallel flock script unbuffer expect at batch crontab systemd-run start-stop-daemon run-parts cpulimit
		faketime fakeroot strace ltrace gdb perf valgrind ldd entr dbus-run-session`),
	starts("starts the given program as another user or in another place",
		"sudo doas su runuser chroot unshare nsenter setpriv ip"),
	starts("runs any command line", "sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox screen tmux"),
	starts("runs any program in its language", `awk gawk mawk nawk perl python pypy ruby node nodejs deno bun php lua luajit tclsh guile
		java jshell R Rscript julia dc m4 gnuplot osascript`),
	starts("runs commands from files or options", "make gmake cmake ninja gcc cc g++ clang go cargo npm npx yarn pip gem bundle mvn gradle"),
	starts("starts programs from within (!command, :!command), and writes files",
		"vi vim view nvim ed ex emacs nano less more man most pg info ftp mail mailx"),
	starts("starts programs (ProxyCommand, -S, -e), here and on other hosts", "ssh scp sftp rsync autossh sshpass rsh"),
	starts("starts programs and connects to anything (-e, -c, EXEC:)", "nc ncat netcat socat telnet openssl"),
	starts(`starts programs (\!, .shell, \copy … program) and writes files`, "psql mysql mariadb sqlite sqlite3 mongo mongosh"),
	starts("starts programs in containers, with access to the host's files if requested", "docker podman nerdctl crictl ctr lxc"),
	starts("starts programs (plugins, hooks, templates)", "helm terraform tofu ansible ansible-playbook aws gcloud az"),
	starts("runs ed if the patch is an ed script, and changes files", "patch gpatch"),
	starts("starts programs during installation and through options", "apt apt-get dpkg rpm yum dnf apk snap brew"),
	starts("starts programs by options (-z, -TT, --use-askpass, --exec, --rsh-command), and writes files", "tcpdump zip wget gpg cpio"),

	writes("writes its input to a file", "tee sponge dd"),
	writes("creates, replaces or deletes files", `cp mv rm rmdir ln mkdir mktemp mkfifo mknod touch truncate csplit shred unlink
		chmod chown chgrp setfacl unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd 7z xxd yq`),
	writes("writes files, and starts programs (--filter)", "split gsplit").but(deny{long: "filter"}),
	writes("copies files, and starts programs (--strip-program)", "install ginstall").but(deny{long: "strip-program"}),

	writes("ends processes", "kill pkill killall skill"),
	writes("changes the host, its network or its services", `service rc-service initctl loginctl hostnamectl timedatectl localectl mount
		umount swapon swapoff insmod rmmod modprobe ifconfig route iptables ip6tables nft tc reboot shutdown halt poweroff useradd usermod userdel
		groupadd passwd chpasswd`),

	checked(sed, "runs commands (e, s///e) and writes files (w, s///w, -i)", "sed gsed"),
	checked(tar, "starts programs (--to-command, --checkpoint-action, -I, host:file) and writes files (-x, -c)", "tar gtar bsdtar"),
	checked(find, "starts programs (-exec, -ok), deletes (-delete) and writes files (-fprint, -fls)", "find gfind"),
	checked(sortOptions.check, "writes files (-o) and starts programs (--compress-program)", "sort gsort"),
	checked(uniq, "writes to its second operand", "uniq guniq"),
	checked(shufOptions.check, "writes files (-o)", "shuf gshuf"),
	checked(git, "starts programs (-c, --exec-path, --upload-pack, ext::, aliases, hooks, filters, grep -O, --ext-diff) and writes files "+
		"(--output)", "git"),
	checked(curl, "writes files (-o, -O, -c, -D, --trace), takes options from files (-K) and sends files (-T, -F, -d @FILE)", "curl"),
	checked(kubectl, "starts programs (exec, run, cp, edit, plugins, --kubeconfig), changes the cluster and writes files", "kubectl oc"),
	checked(deny{short: "z", long: "pre hostname-bin search-zip"}.check, "starts programs (--pre, --hostname-bin, -z)", "rg"),
	checked(deny{short: "xX", long: "exec exec-batch"}.check, "starts programs (-x, -X)", "fd fdfind"),
	checked(deny{short: "oR"}.check, "writes files (-o, -R)", "tree"),
	checked(deny{long: "vacuum-size vacuum-time vacuum-files rotate flush cursor-file setup-keys update-catalog"}.check,
		"deletes and writes files (--vacuum-time, --rotate, --cursor-file)", "journalctl"),
	checked(deny{short: "e"}.check, "starts programs (-e)", "pidstat"),
	checked(deny{short: "oD", long: "output-dir-flat output-dir-mirror trace patch-from"}.check, "writes files (-o)", "zstdcat"),
	checked(date, "sets the clock (-s, MMDDhhmm)", "date gdate"),
	checked(deny{short: "cCDEn", long: "clear read-clear console-off console-on console-level"}.check,
		"clears the kernel's messages (-c, -C) and changes what the console shows (-D, -E, -n)", "dmesg"),
	checked(systemctl, "starts, stops and changes services, and connects to other hosts (-H)", "systemctl"),
	checked(deny{short: "DKN", long: "diag kill net"}.check, "writes files (-D), closes sockets (-K) and changes the namespace (-N)", "ss"),
	checked(deny{short: "CzZ", long: "compile uncompress uncompress-noreport"}.check,
		"writes files (-C) and starts programs (-z, -Z)", "file"),
	checked(lsof, "writes files (-D)", "lsof"),
	checked(hostname, "sets the name of the host (NAME, -F)", "hostname"),
	checked(sysctl, "sets parameters of the kernel (-w, NAME=VALUE, -p)", "sysctl"),
}

func starts(does, names string) Program {
	return Program{Names: strings.Fields(names), Kind: Starts, Does: does}
}

func writes(does, names string) Program {
	return Program{Names: strings.Fields(names), Kind: Writes, Does: does}
}

// but refuses options that start other programs, of a program that may write files.
func (p Program) but(d deny) Program {
	p.check = d.check
	return p
}

func checked(check func([]Arg) error, does, names string) Program {
	return Program{Names: strings.Fields(names), Kind: Checked, Does: does, check: check}
}
