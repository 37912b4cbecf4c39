package process

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// vitals runs ps. It is called only while a call waits and the server is silent.
func (g *group) vitals() (v Vitals) {
	out, err := exec.Command("/bin/ps", "-ww", "-o", "state=,time=,command=", "-g", strconv.Itoa(g.id)).Output()
	if err != nil {
		return v
	}
	return parseVitals(string(out))
}

// parseVitals reads the output of ps: the state, the CPU time and the command line of each process.
func parseVitals(out string) (v Vitals) {
	v.Known = true
	running := false // something that is not a launcher
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch state := fields[0]; {
		case strings.Contains(state, "X"): // it is debugged
			v.Held, running = true, true
		case state[0] == 'T':
			v.Stopped = true
		case state[0] != 'Z' && !launches(fields[2:]):
			running = true
		}
		minutes, seconds, _ := strings.Cut(fields[1], ":")
		m, _ := strconv.Atoi(minutes)
		s, _ := strconv.ParseFloat(seconds, 64)
		v.CPU += time.Duration(m)*time.Minute + time.Duration(s*float64(time.Second))
	}
	v.Stopped = v.Stopped && !running
	return v
}
