package terminal

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PortHolder returns the name and number of the process that listens on the port of an address. It can't inspect
// processes of other users. For those, it explains how to find out.
func PortHolder(addr string) string {
	const unknown = "another program (to see which: ss -ltnp)"
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return unknown
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return unknown
	}
	sockets := listeningSockets(port)
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err != nil || !slices.Contains(sockets, to) {
			continue
		}
		process := filepath.Dir(filepath.Dir(file))
		if name, err := os.ReadFile(process + "/comm"); err == nil {
			return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(process))
		}
	}
	return unknown
}

// listeningSockets returns the sockets that listen on a port, in the form of links in /proc/PID/fd (proc_pid_net(5)).
func listeningSockets(port uint64) (sockets []string) {
	const listening = "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(table)
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listening {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err == nil && n == port {
				sockets = append(sockets, "socket:["+f[9]+"]")
			}
		}
	}
	return sockets
}
