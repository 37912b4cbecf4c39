package launch

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Program is the program to be started, as found on disk. The system reports ENOENT for a missing
// command, interpreter and directory alike.
type Program struct {
	Asked      string // as configured
	Path       string // the file; empty if none was found
	Exists     bool
	Directory  bool // it is a directory
	Dangling   bool // it is a symbolic link to a missing file
	Executable bool
	Shim       bool // a batch file (npx.cmd), which needs the command interpreter

	Dir       string // the working directory; empty for gauze's own
	DirExists bool

	// What is needed to run it: the interpreter in the first line of a script, or the loader of a
	// binary.
	Interpreter       string // as written there; NAME for `env NAME`
	InterpreterPath   string // where it is; empty if it was not found
	InterpreterReturn bool   // the first line ends with a carriage return, which counts as part of the name

	Format  string // "script", "elf", "mach-o", "pe"; empty if not recognized
	Arch    string // Go's name, several joined with +; empty if not known
	Foreign bool   // built for a different system or processor
	Partial bool   // shorter than its own header says, or empty
}

// Inspect examines what would be started. It reads a few bytes and runs nothing.
func Inspect(spec Spec) Program {
	p := Program{Asked: spec.Command, Dir: spec.Dir, DirExists: true}
	if spec.Dir != "" {
		info, err := os.Stat(spec.Dir)
		p.DirExists = err == nil && info.IsDir()
	}
	path, err := Locate(spec)
	if err != nil {
		path = unusable(spec)
	}
	if path == "" {
		return p
	}
	p.Path = path
	info, statErr := os.Stat(path)
	if statErr != nil {
		_, linkErr := os.Lstat(path)
		p.Dangling = linkErr == nil
		return p
	}
	p.Exists, p.Directory, p.Executable = true, info.IsDir(), err == nil
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
		p.Shim = true
	}
	if info.Mode().IsRegular() { // opening a pipe would block
		p.read(spec, info.Size())
	}
	return p
}

// unusable finds the file that would be started if it could be: the first with that name,
// executable or not.
func unusable(spec Spec) string {
	command := spec.Command
	if command == "" {
		return ""
	}
	candidates := []string{command}
	if filepath.Base(command) == command {
		candidates = nil
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			candidates = append(candidates, filepath.Join(dir, command))
		}
	} else if !filepath.IsAbs(command) {
		candidates[0] = filepath.Join(spec.Dir, command)
	}
	for _, path := range candidates {
		if info, err := os.Lstat(path); err == nil && (len(candidates) == 1 || !info.IsDir()) {
			if path, err = filepath.Abs(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// read examines the file.
func (p *Program) read(spec Spec, size int64) {
	file, err := os.Open(p.Path)
	if err != nil {
		return
	}
	defer file.Close()
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(file, head)
	head = head[:n]
	p.Partial = n == 0
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		p.Format = "script"
		p.shebang(head[2:], spec)
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		p.Format = "elf"
		p.elf(head, file, size)
	case bytes.HasPrefix(head, []byte("MZ")):
		p.Format = "pe"
		p.pe(head)
	default:
		p.macho(head)
	}
	p.Foreign = p.Format != "" && p.Format != "script" &&
		(p.Format != nativeFormat() || p.Arch != "" && !runsHere(p.Arch))
}

// shebang reads the first line: #! interpreter [argument].
func (p *Program) shebang(text []byte, spec Spec) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if len(line) > 0 && line[len(line)-1] == '\r' {
		p.InterpreterReturn = runtime.GOOS != "windows"
		line = line[:len(line)-1]
	}
	words := strings.Fields(string(line[:min(len(line), 1000)]))
	if len(words) == 0 {
		return
	}
	p.Interpreter = words[0]
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
				continue // env -S NAME, env A=B NAME
			}
			p.Interpreter = word
			break
		}
	}
	if filepath.IsAbs(p.Interpreter) {
		if isExecutable(p.Interpreter) {
			p.InterpreterPath = p.Interpreter
		}
		return
	}
	p.InterpreterPath = lookIn(pathOfEnvironment(spec.Environment()), p.Interpreter)
}

// lookIn finds a command in a list of directories, as env does.
func lookIn(list, name string) string {
	for _, dir := range filepath.SplitList(list) {
		if path := filepath.Join(dir, name); isExecutable(path) {
			return path
		}
	}
	return ""
}

// pathOfEnvironment returns the PATH of an environment. The last one counts, as in os/exec.
func pathOfEnvironment(environ []string) (path string) {
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			path = value
		}
	}
	return path
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

func nativeFormat() string {
	switch runtime.GOOS {
	case "windows":
		return "pe"
	case "darwin", "ios":
		return "mach-o"
	}
	return "elf"
}

// runsHere reports whether this system runs programs for one of the architectures, natively or
// emulated.
func runsHere(archs string) bool {
	for arch := range strings.SplitSeq(archs, "+") {
		switch {
		case arch == runtime.GOARCH,
			arch == "386" && runtime.GOARCH == "amd64" && runtime.GOOS != "darwin",
			arch == "arm" && runtime.GOARCH == "arm64" && runtime.GOOS == "linux",
			runtime.GOARCH == "arm64" && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") && (arch == "amd64" || arch == "386" && runtime.GOOS == "windows"):
			return true
		}
	}
	return false
}

var elfArchs = map[uint16]string{3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64"}

// elf reads the architecture and the loader. A missing loader (a program for musl on a glibc
// system) is also reported as ENOENT.
func (p *Program) elf(head []byte, file io.ReaderAt, fileSize int64) {
	if len(head) < 64 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	p.Arch = elfArchs[order.Uint16(head[18:])]
	if head[4] != 2 {
		return // 32-bit files have a different layout and are rare
	}
	table, size, count := order.Uint64(head[32:]), int(order.Uint16(head[54:])), int(order.Uint16(head[56:]))
	if size < 56 || table > 1<<30 {
		return
	}
	entry := make([]byte, 56)
	for i := range min(count, 64) {
		if _, err := file.ReadAt(entry, int64(table)+int64(i*size)); err != nil {
			return
		}
		at, length := order.Uint64(entry[8:]), order.Uint64(entry[32:])
		if at > 1<<40 || length > 1<<40 {
			return
		}
		const load, interp = 1, 3
		switch order.Uint32(entry) {
		case load:
			p.Partial = p.Partial || at+length > uint64(fileSize)
		case interp:
			p.loader(file, int64(at), int(length))
		}
	}
}

// loader reads the name of the loader of a binary.
func (p *Program) loader(file io.ReaderAt, at int64, length int) {
	if length < 2 || length > 256 {
		return
	}
	name := make([]byte, length-1) // without its terminating zero
	if _, err := file.ReadAt(name, at); err != nil {
		return
	}
	p.Interpreter = string(name)
	if _, err := os.Stat(p.Interpreter); err == nil {
		p.InterpreterPath = p.Interpreter
	}
}

var peArchs = map[uint16]string{0x14c: "386", 0x8664: "amd64", 0xaa64: "arm64", 0x1c4: "arm"}

func (p *Program) pe(head []byte) {
	if len(head) < 0x40 {
		return
	}
	at := int64(binary.LittleEndian.Uint32(head[0x3c:]))
	if at+6 <= int64(len(head)) && string(head[at:at+4]) == "PE\x00\x00" {
		p.Arch = peArchs[binary.LittleEndian.Uint16(head[at+4:])]
	}
}

var machoArchs = map[uint32]string{7: "386", 0x01000007: "amd64", 12: "arm", 0x0100000c: "arm64"}

func (p *Program) macho(head []byte) {
	if len(head) < 8 {
		return
	}
	const thin32, thin64, fat = 0xfeedface, 0xfeedfacf, 0xcafebabe
	switch magic := binary.LittleEndian.Uint32(head); {
	case magic == thin32 || magic == thin64:
		p.Format, p.Arch = "mach-o", machoArchs[binary.LittleEndian.Uint32(head[4:])]
	case binary.BigEndian.Uint32(head) == fat:
		count := binary.BigEndian.Uint32(head[4:])
		if count == 0 || count > 20 { // Java class files have the same magic number, followed by a version from 45 on
			return
		}
		p.Format = "mach-o"
		var archs []string
		for at := 8; at+20 <= len(head) && len(archs) < int(count); at += 20 {
			archs = append(archs, machoArchs[binary.BigEndian.Uint32(head[at:])])
		}
		p.Arch = strings.Join(archs, "+")
	}
}
