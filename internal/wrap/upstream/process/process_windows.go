package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a Job Object. It ends with its last handle, so the server and everything it started end
// with gauze even if gauze is killed.
type group struct {
	mu      sync.Mutex
	job     windows.Handle // 0 if the system refused to create one, or after kill
	process windows.Handle // the server; while the handle is open, its id is not reused
}

// prepare makes the process start suspended: it must not start a process before it is in the job.
func (g *group) prepare(cmd *exec.Cmd) error {
	// In a new group, Ctrl-C on gauze's console does not reach the server before gauze can stop it
	// in order.
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	return throughInterpreter(cmd)
}

// adopt puts the process into a job and lets it run.
func (g *group) adopt(cmd *exec.Cmd) error {
	var err error
	if handleErr := cmd.Process.WithHandle(func(handle uintptr) {
		self := windows.CurrentProcess()
		err = windows.DuplicateHandle(self, windows.Handle(handle), self, &g.process, 0, false, windows.DUPLICATE_SAME_ACCESS)
	}); handleErr != nil {
		err = handleErr
	}
	if err != nil {
		return fmt.Errorf("cannot get a handle to the server process: %w", err)
	}
	// Without a job, kill ends the processes one by one.
	g.job, _ = newJob(g.process)
	if status, _, _ := ntResumeProcess.Call(uintptr(g.process)); status != 0 {
		g.kill()
		return fmt.Errorf("cannot resume the server process: %w", windows.NTStatus(status))
	}
	return nil
}

// newJob puts a process into a job of its own.
func newJob(process windows.Handle) (job windows.Handle, err error) {
	if job, err = windows.CreateJobObject(nil, nil); err != nil {
		return 0, err
	}
	if _, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&jobLimits)), uint32(unsafe.Sizeof(jobLimits))); err == nil {
		err = assignToJob(job, process)
	}
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// jobLimits is a variable of the package because a pointer to it is passed as a
// number, which would not keep one on the stack where it is.
var jobLimits = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
	BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
}

// assignToJob is a variable so that a test can make it fail.
var assignToJob = windows.AssignProcessToJobObject

// terminate kills: Windows has no SIGTERM for a process without a console. The server had its
// chance when its stdin was closed.
func (g *group) terminate() { g.kill() }

// kill ends every process of the server.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.job != 0:
		windows.TerminateJobObject(g.job, 1)
		windows.CloseHandle(g.job)
		g.job = 0
	case g.process != 0:
		killTree(g.process)
	}
	if g.process != 0 {
		windows.CloseHandle(g.process)
		g.process = 0
	}
}

// killTree ends a process and those it started. Processes whose parent has exited are not found:
// only a job knows them.
func killTree(leader windows.Handle) {
	family := []windows.Handle{leader}
	parents := map[uint32]windows.Handle{}
	if pid, err := windows.GetProcessId(leader); err == nil {
		parents[pid] = leader
	}
	for grown := true; grown; {
		grown = false
		for pid, parent := range runningProcesses() {
			above := parents[parent]
			if above == 0 || parents[pid] != 0 {
				continue
			}
			child, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
			if err != nil {
				continue
			}
			defer windows.CloseHandle(child)
			if created(child) < created(above) {
				continue // the parent's id was reused
			}
			parents[pid] = child
			family = append(family, child)
			grown = true
		}
	}
	for _, process := range family {
		windows.TerminateProcess(process, 1)
	}
}

// runningProcesses maps the id of every process to that of its parent.
func runningProcesses() map[uint32]uint32 {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(snapshot)
	parents := map[uint32]uint32{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		parents[entry.ProcessID] = entry.ParentProcessID
	}
	return parents
}

// created returns when a process was created, in nanoseconds.
func created(process windows.Handle) int64 {
	var creation, exit, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &creation, &exit, &kernel, &user) != nil {
		return 0
	}
	return creation.Nanoseconds()
}

// throughInterpreter runs a batch file with the command interpreter. npx, uvx and others are batch
// files on Windows (npx.cmd). The interpreter parses its command line by its own rules, so gauze
// builds it.
func throughInterpreter(cmd *exec.Cmd) error {
	// The system ignores dots and spaces at the end of a path.
	switch strings.ToLower(filepath.Ext(strings.TrimRight(cmd.Path, " ."))) {
	case ".cmd", ".bat":
	default:
		return nil
	}
	line, err := interpreterLine(cmd.Path, cmd.Args[1:])
	if err != nil {
		return err
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return os.NewSyscallError("GetSystemDirectory", err)
	}
	cmd.Path, cmd.SysProcAttr.CmdLine = filepath.Join(system, "cmd.exe"), line
	return nil
}

// maxInterpreterLine is the longest command line that the interpreter accepts.
const maxInterpreterLine = 8191

// interpreterLine returns the command line that runs a batch file.
func interpreterLine(batch string, args []string) (string, error) {
	words := []string{`"` + keepPercent(batch) + `"`}
	for i, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", fmt.Errorf("argument %d (%q) contains a line break or a NUL character, which cannot be passed to a batch file (%s)",
				i+1, arg, filepath.Base(batch))
		}
		words = append(words, quoteForBatch(arg))
	}
	// /d runs no commands from the registry, /e:on is needed by keepPercent,
	// /v:off leaves ! alone, /s removes exactly the outer quotes.
	line := `cmd.exe /d /e:on /v:off /s /c "` + strings.Join(words, " ") + `"`
	if len(line) > maxInterpreterLine {
		return "", errors.New("the arguments are too long for a batch file (" + filepath.Base(batch) + ")")
	}
	return line, nil
}

// quoteForBatch quotes one argument so that the program run by a batch file receives it unchanged.
// Two parsers read it: the interpreter, twice, for which each quote opens or closes a quotation,
// and the program's C runtime, for which a doubled quote is a quote and a backslash is literal
// except before one. Doubling keeps the interpreter's count even, so no part of the argument is
// outside of a quotation.
func quoteForBatch(word string) string {
	var out strings.Builder
	out.WriteByte('"')
	backslashes := 0
	for i := range len(word) {
		switch word[i] {
		case '\\':
			backslashes++
		case '"':
			out.WriteString(strings.Repeat(`\`, backslashes) + `"`)
			backslashes = 0
		default:
			backslashes = 0
		}
		out.WriteByte(word[i])
	}
	out.WriteString(strings.Repeat(`\`, backslashes) + `"`)
	return keepPercent(out.String())
}

// keepPercent keeps the interpreter from expanding %NAME%. An expansion to nothing (an empty
// substring of the current directory) follows each percent sign, so that no name is between two of
// them.
func keepPercent(text string) string { return strings.ReplaceAll(text, `%`, `%%cd:~,%`) }

// running returns false: what is left of a job is not examined.
func (g *group) running() bool { return false }

// signalOf returns "": Windows has no signals.
func signalOf(*os.ProcessState) string { return "" }
