// Command witness plays the user's MCP servers, and the tools that start them,
// in the tests of package hostile. It records how it was started and then
// behaves like the program it is named after: npx prefers node_modules/.bin,
// python -m prefers a module of the working directory, and so on.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	exe, err := os.Executable()
	if err != nil {
		fail(err.Error())
	}
	w := witness{name: filepath.Base(exe), args: os.Args[1:]}
	w.root = exe[:strings.LastIndex(exe, "/home/")]
	if w.dir, err = os.Getwd(); err == nil {
		w.dir, err = filepath.EvalSymlinks(w.dir)
	}
	if err != nil {
		fail(err.Error())
	}
	w.record()
	if slices.Equal(w.args, []string{"--version"}) {
		fmt.Println(map[string]string{"node": "v20.1.0", "python3": "Python 3.12.1"}[w.name])
		return
	}
	switch w.name {
	case "npx":
		w.npx()
	case "uv":
		w.uv()
	case "python3":
		w.python()
	case "node":
		w.node()
	case "docker":
		w.docker()
	}
	w.behave()
	w.serve()
}

// witness is one start of the program.
type witness struct {
	name string
	args []string
	root string // the directory with the home and the records
	dir  string // the working directory
}

// record appends the name, the working directory, the arguments and the environment to the file of
// starts, quoted and separated by tabs.
func (w *witness) record() {
	fields := append([]string{w.name, w.dir, strconv.Itoa(len(w.args))}, w.args...)
	fields = append(fields, os.Environ()...)
	for i, field := range fields {
		fields[i] = strconv.Quote(field)
	}
	w.write("starts", strings.Join(fields, "\t"))
}

// trip records that a file of the project was run or loaded.
func (w *witness) trip(what string) { w.write("trips", strconv.Quote(what)) }

func (w *witness) write(name, line string) {
	file, err := os.OpenFile(filepath.Join(w.root, "evidence", name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(line + "\n")
	}
	if err != nil {
		fail(err.Error())
	}
	file.Close()
}

func fail(said string) {
	fmt.Fprintln(os.Stderr, said)
	os.Exit(1)
}

// nearest finds a file in the working directory or above it, as tools that search for a project do.
// It stops at the home directory.
func (w *witness) nearest(name string) string {
	for dir := w.dir; dir != filepath.Join(w.root, "home") && strings.HasPrefix(dir, w.root); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// setting reads NAME = value from a file of the project.
func (w *witness) setting(file, name string) string {
	text, _ := os.ReadFile(w.nearest(file))
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// npx runs a program of the project before one of a registry, and uses the registry in the
// project's .npmrc. mcp-remote, which it may run, expands references from its environment and
// connects.
func (w *witness) npx() {
	words := slices.DeleteFunc(slices.Clone(w.args), func(word string) bool { return word == "-y" })
	if len(words) == 0 {
		return
	}
	if path := w.nearest("node_modules/.bin/" + words[0]); path != "" {
		fail(syscall.Exec(path, words, os.Environ()).Error())
	}
	if registry := w.setting(".npmrc", "registry"); registry != "" {
		send(registry, "npx")
	}
	if words[0] == "mcp-remote" && len(words) > 1 {
		address := os.Expand(words[1], os.Getenv)
		if !strings.HasPrefix(address, "http") {
			fail("Error: 401 Unauthorized: invalid token for '" + words[1] + "'")
		}
		send(address, os.Expand(strings.Join(words[2:], " "), os.Getenv))
	}
}

// uv builds the project in the working directory, with the project's build backend.
func (w *witness) uv() {
	if path := w.nearest("pyproject.toml"); path != "" {
		w.trip("uv run builds " + path)
	}
	if index := w.setting("uv.toml", "index-url"); index != "" {
		send(index, "uv")
	}
}

// python loads modules from the working directory first.
func (w *witness) python() {
	if len(w.args) < 2 || w.args[0] != "-m" {
		return
	}
	for _, file := range []string{w.args[1] + ".py", w.args[1] + "/__main__.py"} {
		if _, err := os.Stat(file); err == nil {
			w.trip("python -m loads " + filepath.Join(w.dir, file))
		}
	}
}

// node runs a script. The user's own scripts do not exist as files, so a file that exists is the
// project's.
func (w *witness) node() {
	if len(w.args) == 0 || strings.HasPrefix(w.args[0], "-") || strings.HasPrefix(w.args[0], w.root+"/home/.local/") {
		return
	}
	path := w.args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		fail("Error: Cannot find module '" + path + "'\n  code: 'MODULE_NOT_FOUND'")
	}
	w.trip("node runs " + path)
}

// docker passes on the variables that -e names.
func (w *witness) docker() {
	for i, word := range w.args {
		if i == 0 || w.args[i-1] != "-e" {
			continue
		}
		name, value, given := strings.Cut(word, "=")
		if !given {
			value = os.Getenv(name)
		}
		if value == "" || strings.HasPrefix(value, "$") {
			fail("Error: 401 Unauthorized: invalid API key '" + value + "'")
		}
	}
}

// behave fails in the ways that its arguments name, as servers do.
func (w *witness) behave() {
	for _, word := range w.args {
		option, name, _ := strings.Cut(word, "=")
		value := os.Getenv(name)
		switch option {
		case "--needs":
			if value == "" {
				fail("Error: " + name + " environment variable is required")
			}
		case "--key":
			if value == "" || strings.ContainsAny(value, "${%") {
				fail("Error: 401 Unauthorized: invalid API key '" + value + "'")
			}
		case "--dotenv":
			if _, err := os.Stat(".env"); err != nil {
				fail("Error: ENOENT: no such file or directory, open '.env'")
			}
		case "--module":
			fail("Traceback (most recent call last):\nModuleNotFoundError: No module named '" + name + "'")
		case "--engine":
			fail("error: this server requires Node.js >= 24.0.0, you are using Node.js v20.1.0")
		case "--database":
			connect(os.Getenv("DB_HOST") + ":" + os.Getenv("DB_PORT"))
		case "--address":
			connect(name)
		}
	}
}

// connect connects to the database, as a server does before it serves.
func connect(address string) {
	conn, err := net.Dial("tcp", strings.Replace(address, "localhost", "127.0.0.1", 1))
	if err != nil {
		fail("Failed to connect to the database: Error: connect ECONNREFUSED " + address)
	}
	fmt.Fprintf(conn, "a database client with %s\n", os.Getenv("DB_PASSWORD"))
	conn.Close()
}

// send sends one HTTP request without waiting for the response.
func send(address, what string) {
	_, host, _ := strings.Cut(address, "://")
	host, path, _ := strings.Cut(host, "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		fail("connect ECONNREFUSED " + host)
	}
	fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nX-What: %s\r\n\r\n", path, host, what)
	conn.Close()
}

// serve runs a small MCP server. With --dies, it dies in a call.
func (w *witness) serve() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		_, rest, ok := strings.Cut(line, `"id":`)
		if !ok {
			continue
		}
		id := rest[:strings.IndexAny(rest, ",}")]
		result := `{}`
		switch {
		case strings.Contains(line, `"initialize"`):
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"witness","version":"1"}}`
		case strings.Contains(line, `"tools/list"`):
			result = `{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"}}]}`
		case strings.Contains(line, `"tools/call"`) && slices.Contains(w.args, "--dies"):
			fail("Error: killed")
		case strings.Contains(line, `"tools/call"`):
			result = `{"content":[{"type":"text","text":"seen"}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
}
