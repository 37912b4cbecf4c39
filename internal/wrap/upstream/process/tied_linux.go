package process

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"golang.org/x/sys/unix"
)

// startTied starts a command that gets SIGTERM if gauze is killed. The guard does that for the
// whole group, but learns of the group only once it runs.
//
// The signal is sent when the thread that forked ends, so all servers are started by one thread
// that never ends.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	done := make(chan error)
	starts <- func() { done <- cmd.Start() }
	return <-done
}

// starts passes work to the thread that starts servers.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

// allowedOf returns the limits of a process, which may have exited.
func allowedOf(pid int) (a life.Allowed) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(line, "  ")
		soft, _, _ := strings.Cut(strings.TrimSpace(values), " ")
		limit, _ := strconv.ParseInt(soft, 10, 64) // 0 for "unlimited"
		switch name {
		case "Max open files":
			a.Files = limit
		case "Max address space":
			a.Memory = limit
		}
	}
	return a
}

// untilExit returns when a process has exited, or immediately if that cannot be polled for. Waiting
// for it in a system call takes a thread, and with few processors also one of them, until the
// runtime notices after up to 10 ms: the server's first response would be read that much later.
func untilExit(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	file := os.NewFile(uintptr(fd), "process")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	conn.Read(func(fd uintptr) bool { // asked first, and again when the poller says that the process has exited
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil
	})
}
