package upstream

import (
	"os/exec"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a Job Object: it ends with its last handle, so the server and all
// it started end with us even if we are killed.
type group struct{ job windows.Handle }

func (g *group) prepare(cmd *exec.Cmd) {
	// A new group keeps a Ctrl-C at our console from reaching the server
	// before we had the chance to stop it in order.
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if line, ok := throughInterpreter(cmd); ok {
		if interpreter, err := exec.LookPath("cmd.exe"); err == nil {
			cmd.Path, cmd.SysProcAttr.CmdLine = interpreter, line
		}
	}
}

func (g *group) adopt(cmd *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
}

// terminate: Windows has no SIGTERM for a process without a console; the
// server had its chance when its stdin was closed.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

// throughInterpreter runs a batch file. npx, uvx and others are batch files on
// Windows (npx.cmd), which the system runs through its command interpreter;
// that one reads the line by rules of its own, so we write it ourselves.
func throughInterpreter(cmd *exec.Cmd) (line string, ok bool) {
	switch strings.ToLower(filepath.Ext(cmd.Path)) {
	case ".cmd", ".bat":
	default:
		return "", false
	}
	words := []string{quoteForInterpreter(cmd.Path)}
	for _, arg := range cmd.Args[1:] {
		words = append(words, quoteForInterpreter(arg))
	}
	// /s takes off exactly the outer quotes, whatever is inside.
	return `cmd.exe /d /s /c "` + strings.Join(words, " ") + `"`, true
}

// quoteForInterpreter quotes one word. Inside quotes only the quote itself and
// the percent sign mean something to the interpreter; a percent sign ends the
// quotes for a moment and is escaped.
func quoteForInterpreter(word string) string {
	word = strings.ReplaceAll(word, `"`, `""`)
	word = strings.ReplaceAll(word, `%`, `"^%"`)
	return `"` + word + `"`
}
