package upstream

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// vitals runs ps. It is called only while a call is overdue.
func (g *group) vitals() (v Vitals) {
	out, err := exec.Command("/bin/ps", "-o", "state=,time=", "-g", strconv.Itoa(g.id)).Output()
	if err != nil {
		return v
	}
	v.Known = true
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if fields[0][0] == 'T' {
			v.Stopped = true
		}
		minutes, seconds, _ := strings.Cut(fields[1], ":")
		m, _ := strconv.Atoi(minutes)
		s, _ := strconv.ParseFloat(seconds, 64)
		v.CPU += time.Duration(m)*time.Minute + time.Duration(s*float64(time.Second))
	}
	return v
}
