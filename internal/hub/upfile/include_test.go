package upfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reads counts what is read from a disk.
type reads map[string]int

func (r reads) Lstat(path string) (fs.FileInfo, error)    { return os.Lstat(path) }
func (r reads) Stat(path string) (fs.FileInfo, error)     { return os.Stat(path) }
func (r reads) Readlink(path string) (string, error)      { return filepath.EvalSymlinks(path) }
func (r reads) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (r reads) ReadFile(path string) ([]byte, error) {
	r[filepath.Base(path)]++
	return os.ReadFile(path)
}

// manyEntries writes two files of other programs with n servers each, and a file that refers to each of them.
func manyEntries(p *person, n int) *File {
	var entries, servers, includes []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`"s%d": {"command": "s%d", "args": ["${env:A}"]}`, i, i))
		servers = append(servers, fmt.Sprintf("  c%d: cursor/s%d\n", i, i))
		includes = append(includes, fmt.Sprintf("./other.json#s%d", i))
	}
	all := `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
	p.write(".cursor/mcp.json", all)
	p.write("other.json", all)
	p.write("up.yaml", "include: ["+strings.Join(includes, ", ")+"]\nservers:\n"+strings.Join(servers, ""))
	return p.mustRead("up.yaml")
}

// However many entries of a file are used, it is read once.
func TestAFileIsReadOnce(t *testing.T) {
	p := newPerson(t)
	count := reads{}
	p.fleet.Home.Disk = count
	f := manyEntries(p, 50)
	if len(f.Servers) != 100 || count["mcp.json"] != 1 || count["other.json"] != 1 {
		t.Errorf("%d servers, files that were read: %v", len(f.Servers), count)
	}
	clear(count)
	for i := range f.Servers {
		if spec, err := f.Servers[i].At(p.dir, []string{"A=session"}); err != nil || fmt.Sprint(spec.Args) != "[session]" {
			t.Errorf("%+v, %v", spec, err)
		}
	}
	if len(count) > 0 {
		t.Errorf("sessions read %v", count)
	}
}

// What a session costs does not depend on how many other entries are in the file.
func TestASessionParsesNoFile(t *testing.T) {
	cost := func(n int) float64 {
		p := newPerson(t)
		s := manyEntries(p, n).Server("s0")
		return testing.AllocsPerRun(5, func() { s.At(p.dir, nil) })
	}
	if few, many := cost(2), cost(100); many > 2*few {
		t.Errorf("%v allocations for an entry in a file with 2, %v with 100", few, many)
	}
}
