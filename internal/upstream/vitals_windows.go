package upstream

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

// accounting asks the job. Without one, nothing is known.
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

// vitals returns the CPU time of the job. Windows does not stop processes. A
// job that reports no time at all does not count it (wine's does not).
func (a accounting) vitals() Vitals {
	used := time.Duration(a.userTime+a.kernelTime) * 100
	return Vitals{Known: used > 0, CPU: used}
}

func (g *group) vitals() Vitals {
	a, _ := g.accounting()
	return a.vitals()
}

// CPUTick is the precision in which the system reports CPU time.
const CPUTick = 15625 * time.Microsecond

// family remembers how many processes a server had.
type family struct {
	mu     sync.Mutex
	active uint32
}

// dying reports whether a process has ended since the last look: a server
// killed below its launcher, which may not know yet.
func (f *family) dying(g *group) bool {
	a, known := g.accounting()
	f.mu.Lock()
	defer f.mu.Unlock()
	fewer := known && a.active < f.active
	f.active = a.active
	return fewer
}
