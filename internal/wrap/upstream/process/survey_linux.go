package process

import (
	"bytes"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
)

// survey examines every process of the group and their descendants that left it.
func (g *group) survey(environ []string) life.Survey {
	members := g.members()
	if members == nil {
		return life.Survey{}
	}
	owner := map[string]int{} // the inode of a socket to the index of its process
	for i := range members {
		for _, inode := range socketsOf(members[i].pid) {
			owner[inode] = i
		}
	}
	if len(owner) > 0 {
		for _, table := range []string{"tcp", "tcp6"} {
			eachSocket("/proc/"+strconv.Itoa(members[0].pid)+"/net/"+table, func(local, remote int, state, inode string) {
				i, ours := owner[inode]
				switch {
				case ours && state == "0A":
					members[i].listens = append(members[i].listens, local)
				case ours && state == "01":
					members[i].talksTo = append(members[i].talksTo, remote)
				}
			})
		}
	}
	return surveyOf(g.id, members, packagePorts(environ))
}

// members returns the processes of the group and their descendants.
func (g *group) members() (found []surveyed) {
	var others []surveyed
	ours := map[int]bool{}
	add := func(p surveyed) {
		ours[p.pid] = true
		p.args = argsOf(p.pid)
		p.moved = movedBy(p.pid)
		found = append(found, p)
	}
	all := func(int) bool { return true }
	eachProcess(all, func(pid int, fields [][]byte) {
		parent, _ := strconv.Atoi(string(fields[1]))
		switch p := (surveyed{pid: pid, parent: parent}); {
		case fields[0][0] == 'Z':
		case string(fields[2]) == strconv.Itoa(g.id):
			add(p)
		default:
			others = append(others, p)
		}
	})
	for grown := true; grown; {
		grown = false
		for _, p := range others {
			if ours[p.parent] && !ours[p.pid] {
				add(p)
				grown = true
			}
		}
	}
	return found
}

// argsOf returns the command line of a process.
func argsOf(pid int) []string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.Split(string(bytes.TrimRight(line[:min(len(line), 4<<10)], "\x00")), "\x00")
}

// movedBy returns how many bytes a process has read and written.
func movedBy(pid int) (sum int64) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	for line := range strings.Lines(string(text)) {
		if name, number, _ := strings.Cut(strings.TrimSpace(line), ": "); name == "rchar" || name == "wchar" {
			n, _ := strconv.ParseInt(number, 10, 64)
			sum += n
		}
	}
	return sum
}

// socketsOf returns the inodes of a process's sockets.
func socketsOf(pid int) (inodes []string) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	names, _ := file.Readdirnames(1024)
	for _, name := range names {
		target, _ := os.Readlink(dir + "/" + name)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// eachSocket calls yield for each line of a socket table of the kernel.
func eachSocket(path string, yield func(local, remote int, state, inode string)) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	table, _ := io.ReadAll(io.LimitReader(file, 4<<20))
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[0] == "sl" {
			continue
		}
		yield(hexPort(fields[1]), hexPort(fields[2]), fields[3], fields[9])
	}
}

func hexPort(address string) int {
	_, port, _ := strings.Cut(address, ":")
	n, _ := strconv.ParseUint(port, 16, 16)
	return int(n)
}

// packagePorts returns the ports that packages are downloaded from: HTTPS, or those of proxies and
// registries in the environment.
func packagePorts(environ []string) map[int]bool {
	ports := map[int]bool{443: true}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch strings.ToLower(name) {
		case "https_proxy", "http_proxy", "all_proxy", "npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "pip_index_url", "uv_index_url", "uv_default_index":
			if at, err := url.Parse(value); err == nil {
				if port, err := strconv.Atoi(at.Port()); err == nil {
					ports[port] = true
				}
			}
		}
	}
	return ports
}
