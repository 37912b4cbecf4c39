package census

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// marked returns the processes that have a variable in their environment.
func marked(variable string) (found []string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		environment, _ := os.ReadFile("/proc/" + name + "/environ") // nothing if it is another user's, or gone
		if bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+variable+"\x00")) {
			found = append(found, process("/proc/"+name))
		}
	}
	return found
}

// process describes the process with a folder in /proc.
func process(dir string) string {
	words, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	return "process " + filepath.Base(dir) + ": " + strings.ReplaceAll(string(words), "\x00", " ")
}

// children returns the children of this process, also those that it has not waited for.
func children() (found []string) {
	threads, _ := filepath.Glob("/proc/self/task/*/children") // each has those that it started
	for _, file := range threads {
		pids, _ := os.ReadFile(file)
		for pid := range strings.FieldsSeq(string(pids)) {
			found = append(found, process("/proc/"+pid))
		}
	}
	return found
}

// files returns the open files of this process.
func files() (found []string) {
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil { // not the one that the list was read from
			found = append(found, "file "+filepath.Base(link)+": "+file)
		}
	}
	return found
}
