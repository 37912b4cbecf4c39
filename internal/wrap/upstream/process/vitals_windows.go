package process

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// accounting is what a job knows of its processes
// (JOBOBJECT_BASIC_ACCOUNTING_INFORMATION). Times are in units of 100 ns and
// include processes that have ended.
type accounting struct {
	userTime, kernelTime             int64
	periodUserTime, periodKernelTime int64
	pageFaults                       uint32
	processes, active, terminated    uint32
}

// accounting queries the job. It returns false if there is none.
func (g *group) accounting() (a accounting, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return a, false
	}
	ok, _, _ := queryInformationJobObject.Call(uintptr(g.job), windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	return a, ok != 0
}

// vitals returns the CPU time of the job, including processes that have
// ended, or that of its processes if the job counts none (wine's do not).
// Windows does not stop processes.
func (g *group) vitals() Vitals {
	a, _ := g.accounting()
	used := time.Duration(a.userTime+a.kernelTime) * 100
	running, known := g.runningTime()
	return Vitals{Known: known || used > 0, CPU: max(used, running)}
}

// runningTime returns the CPU time of the processes in the job.
func (g *group) runningTime() (sum time.Duration, known bool) {
	var list struct {
		assigned, listed uint32
		ids              [256]uintptr
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return 0, false
	}
	queryInformationJobObject.Call(uintptr(g.job), windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), unsafe.Sizeof(list), 0) // of more processes than fit, those that do are listed
	for _, id := range list.ids[:min(int(list.listed), len(list.ids))] {
		process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(id))
		if err != nil {
			continue
		}
		var created, exited, kernel, user windows.Filetime
		if windows.GetProcessTimes(process, &created, &exited, &kernel, &user) == nil {
			sum, known = sum+ticks(kernel)+ticks(user), true
		}
		windows.CloseHandle(process)
	}
	return sum, known
}

// ticks returns a time span that Windows gives as a Filetime, in units of 100 ns.
func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

// CPUTick is the resolution of the CPU time that the system reports.
const CPUTick = 15625 * time.Microsecond

// family remembers how many processes a server had.
type family struct {
	mu     sync.Mutex
	active uint32
}

// dying reports whether a process has exited since the last call: a server killed below a launcher
// that may not have noticed yet.
func (f *family) dying(g *group) bool {
	a, known := g.accounting()
	f.mu.Lock()
	defer f.mu.Unlock()
	fewer := known && a.active < f.active
	f.active = a.active
	return fewer
}
