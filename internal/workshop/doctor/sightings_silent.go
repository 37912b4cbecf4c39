package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// moduleName matches what Deno and Bun start by name: npm:@scope/name.
var moduleName = regex.New(`^(?:npm|jsr|node|data|file):`)

// absolute returns the path of a word of the entry, as the server resolves it, or "" if the word has a
// reference or a tilde that nothing expanded.
func (w *witness) absolute(word string) string {
	if strings.HasPrefix(word, "~") || len(references(word)) > 0 || strings.Contains(word, "://") || moduleName.MatchString(word) {
		return ""
	}
	if !filepath.IsAbs(word) {
		dir, _ := w.server.start()
		word = filepath.Join(dir, word)
	}
	return word
}

// scriptEndings are what interpreters add to the name of a script.
var scriptEndings = []string{
	"", ".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".mts", ".cts", ".tsx", ".jsx",
	"/index.js", "/index.mjs", "/index.cjs", "/index.ts", "/index.tsx", "/package.json", "/__main__.py",
}

// isMissing reports whether there is certainly nothing at a path. One that may not be read is not missing.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func seeNoScript(w *witness) *sighting {
	word := w.server.script()
	path := w.absolute(word)
	if word == w.server.spec.Command || path == "" || !isPath(word) && !scriptFile.MatchString(word) {
		return nil
	}
	if slices.ContainsFunc(scriptEndings, func(ending string) bool { return isFile(path + filepath.FromSlash(ending)) }) ||
		!isFolder(path) && !isMissing(path) || !isPath(word) && w.server.canStart(word) { // a shell looks for a script on PATH
		return nil
	}
	s := &sighting{said: w.server.quoted(path) + " does not exist", names: map[string]string{"path": word}}
	if isFolder(path) {
		s.said = w.server.quoted(path) + " is a directory without a program"
		s.explain = "{path|The server's file} is a directory, but it does not contain a file that {command|the interpreter} can start."
	}
	return s
}

// fullDisk is how many free bytes a full disk may have.
const fullDisk = 64 << 10

func seeFullDisk(w *witness) *sighting {
	start, _ := w.server.start()
	for _, dir := range append([]string{start, w.server.own(), w.server.m.Home, os.TempDir()}, w.folderValues()...) {
		if free, ok := freeBytes(dir); ok && free < fullDisk {
			return &sighting{said: "the disk that contains " + w.server.quoted(dir) + " has " + strconv.FormatUint(free, 10) + " bytes free"}
		}
	}
	return nil
}

// folderValues returns the existing directories in the server's arguments and variables.
func (w *witness) folderValues() (dirs []string) {
	const most = 64
	for _, word := range slices.Concat(w.server.spec.Args, w.server.env) {
		if _, text, ok := strings.Cut(word, "="); ok {
			word = text
		}
		if isFile(word) {
			word = filepath.Dir(word)
		}
		if filepath.IsAbs(word) && isFolder(word) && !slices.Contains(dirs, word) && len(dirs) < most {
			dirs = append(dirs, word)
		}
	}
	return dirs
}

// littleMemory is less address space than some servers need. WebAssembly in Node alone reserves 10 GB.
const littleMemory = 16 << 30

func seeMemoryLimit(w *witness) *sighting {
	if w.e.Allowed.Memory == 0 || w.e.Allowed.Memory > littleMemory {
		return nil
	}
	size := strconv.FormatInt(w.e.Allowed.Memory>>20, 10) + " MB"
	return &sighting{said: "its address space is limited to " + size,
		explain: "The server exited, most likely because it ran out of memory: the system limits its memory to " + size + ".",
		fix:     "Raise or remove the memory limit in the environment that the client or the server is started from (`ulimit -v unlimited`)."}
}

// fewFiles is a limit on open files below that of any system.
const fewFiles = 256

func seeFileLimit(w *witness) *sighting {
	if files := w.e.Allowed.Files; files > 0 && files < fewFiles {
		return &sighting{said: "it may open at most " + strconv.FormatInt(files, 10) + " files",
			explain: "The server exited, possibly because it could not open another file: the system allows it to have only " +
				strconv.FormatInt(files, 10) + " files open at the same time.",
			fix: "Raise the limit in the environment that the client or the server is started from (`ulimit -n 1024`)."}
	}
	return nil
}

// manifestOf is what gauze reads of a package.json.
type manifestOf struct {
	Bin         any
	Directories struct{ Bin any }
	Engines     map[string]string
	path        string
}

// manifest returns the nearest package.json in a directory or above it in the same project.
func (w *witness) manifest(dir string) (found manifestOf, ok bool) {
	for _, dir := range w.server.m.upwards(dir) {
		if text, err := readSmall(filepath.Join(dir, "package.json")); err == nil {
			found.path = filepath.Join(dir, "package.json")
			return found, json.Unmarshal(text, &found) == nil
		}
	}
	return found, false
}

// packageManifest returns the package.json of the package that a runner of npm starts: in the project, or
// in npx's cache.
func (w *witness) packageManifest() (found manifestOf, name string, ok bool) {
	cmd := commandOf(w.server.spec)
	name = withoutVersion(cmd.packageName())
	if launch.Registry(cmd.runner()) != "npm" || name == "" {
		return found, "", false
	}
	start, _ := w.server.start()
	for _, dir := range append(w.server.m.upwards(start), w.server.m.NpxEntries(name)...) {
		path := filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json")
		if text, err := readSmall(path); err == nil {
			found.path = path
			return found, name, json.Unmarshal(text, &found) == nil
		}
	}
	return found, "", false
}

func seePackageWithoutProgram(w *witness) *sighting {
	found, name, ok := w.packageManifest()
	if !ok || found.Bin != nil || found.Directories.Bin != nil || commandOf(w.server.spec).has("-p", "--package") {
		return nil
	}
	return &sighting{said: w.server.quoted(found.path) + ` has no "bin"`, names: map[string]string{"package": name},
		explain: "{package|The package} does not contain a program that can be started: its package.json has no \"bin\".",
		fix: "Check the package's name in the server's documentation: {package|this one} is a library. The server may " +
			"be in another package, or may be a file in this package that you start with node."}
}

func seeNoModules(w *witness) *sighting {
	if missing, ok := w.server.m.missingModules(w.server.nodeProject()); ok {
		return &sighting{said: w.server.quoted(missing.dir) + " has a package.json with dependencies, but no node_modules"}
	}
	return nil
}

// interpreter returns the version of the interpreter that starts the server, or nil if another program
// starts the interpreter.
func (w *witness) interpreter() []int {
	if program(w.server.spec.Command) != w.server.runner() {
		return nil
	}
	return w.server.m.versionOf(w.e.Program.Path, w.server.env)
}

func seeOldNode(w *witness) *sighting {
	found, ok := manifestOf{}, false
	if own := w.server.own(); own != "" && commandOf(w.server.spec).runs("node") {
		found, ok = w.manifest(own)
	}
	wanted := found.Engines["node"]
	if !ok || wanted == "" {
		return nil
	}
	if version := w.interpreter(); len(version) > 0 && !satisfies(version, wanted) {
		return &sighting{said: w.server.quoted(found.path) + " requires node " + wanted, names: map[string]string{"version": wanted}}
	}
	return nil
}

// requiresPython matches the version in a pyproject.toml.
var requiresPython = regex.New(`(?m)^\s*requires-python\s*=\s*["']([^"'\n]+)["']`)

func seeOldPython(w *witness) *sighting {
	own := w.server.own()
	if own == "" || !strings.HasPrefix(commandOf(w.server.spec).runner(), "python") {
		return nil
	}
	for _, dir := range w.server.m.upwards(own) {
		text, err := readSmall(filepath.Join(dir, "pyproject.toml"))
		wanted := requiresPython.FindStringSubmatch(string(text))
		if err != nil || wanted == nil {
			continue
		}
		if version := w.interpreter(); len(version) > 0 && !satisfies(version, wanted[1]) {
			return &sighting{said: w.server.quoted(dir) + " requires python " + wanted[1], names: map[string]string{"version": wanted[1]}}
		}
		return nil
	}
	return nil
}

func seeBrokenSettings(w *witness) *sighting {
	for _, word := range w.server.spec.Args {
		if _, value, ok := strings.Cut(word, "="); ok {
			word = value
		}
		path := w.absolute(word)
		if !strings.HasSuffix(word, ".json") || path == "" {
			continue
		}
		text, err := readSmall(path)
		if err == nil && !isJSON(text) && !strings.Contains(string(text), "//") && !strings.Contains(string(text), "/*") {
			return &sighting{said: w.server.quoted(path) + " is not valid JSON", names: map[string]string{"path": path},
				explain: "The file {path|in the server's arguments} is not valid JSON.",
				fix:     "Correct the JSON in {path|the file}: look for a missing or extra comma, quote or brace."}
		}
	}
	return nil
}

// isJSON reports whether a text consists of JSON values: one, or one in each line.
func isJSON(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return n > 0 && errors.Is(err, io.EOF)
		}
	}
}

var (
	// pathOfURL matches an option and its value that is the path of a URL: --endpoint=/api/mcp, --path=/mcp.
	pathOfURL = regex.New(`(?i)^-[\w-]*(?:end-?point|route|prefix|mount|-base|url|uri|sse|http|message)[\w-]*=|^--?path=/[^/]*/?$`)
	// codeOption matches options whose value is a program.
	codeOption = regex.New(`^(?:-[a-z]*[cep]|--(?:eval|print|command|exec))=`)
	// severalPaths matches what is a list of paths or a pattern.
	severalPaths = regex.New(`[,:;|*?"'<>$]`)
)

func seeMissingArgument(w *witness) *sighting {
	option := ""
	for _, word := range w.server.spec.Args {
		setting, secret := option+"="+word, redact.NamesSecret(strings.TrimLeft(option, "-"), word)
		option = ""
		if strings.HasPrefix(word, "-") {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				option = word
				continue
			}
			setting, word, secret = name+"="+value, value, redact.NamesSecret(strings.TrimLeft(name, "-"), value)
		}
		// A file that does not exist yet may be one that the server creates.
		if !filepath.IsAbs(word) || secret || w.server.secrets.Quote(word) != word ||
			pathOfURL.MatchString(setting) || codeOption.MatchString(setting) ||
			severalPaths.MatchString(strings.TrimPrefix(word, filepath.VolumeName(word))) ||
			word == w.server.script() || !isMissing(word) || filepath.Ext(word) != "" && isFolder(filepath.Dir(word)) {
			continue
		}
		return &sighting{said: w.server.quoted(word) + " does not exist", names: map[string]string{"path": word}}
	}
	return nil
}

func seeEmptyVariable(w *witness) *sighting {
	given := w.server.env
	if program(w.server.spec.Command) == "env" {
		given = w.server.spec.Args
	}
	for _, pair := range given {
		name, text, ok := strings.Cut(pair, "=")
		if ok && text == "" && variableWord.MatchString(name) && isVariable(name) && !loads(name) && w.mentions(name) {
			return &sighting{said: name + " is empty", names: map[string]string{"variable": name, "variables": name}}
		}
	}
	return nil
}

// mentions reports whether the entry itself sets a variable, or the server's own script reads it. Other
// empty variables are the user's.
func (w *witness) mentions(name string) bool {
	if slices.ContainsFunc(w.server.spec.Args, func(word string) bool { return strings.HasPrefix(word, name+"=") }) {
		return true
	}
	text, err := readSmall(w.absolute(w.server.script()))
	return err == nil && strings.Contains(string(text), name)
}

func seeRequiredVariable(w *witness) *sighting {
	own := w.server.own()
	if own == "" {
		return nil
	}
	for _, dir := range w.server.m.upwards(own) {
		var manifest struct {
			Packages []struct {
				EnvironmentVariables []struct {
					Name       string
					IsRequired bool
					Default    any
				}
			}
		}
		text, err := readSmall(filepath.Join(dir, "server.json"))
		if err != nil || json.Unmarshal(text, &manifest) != nil {
			continue
		}
		var names []string
		for _, pkg := range manifest.Packages {
			for _, v := range pkg.EnvironmentVariables {
				if v.IsRequired && v.Default == nil && isVariable(v.Name) && !loads(v.Name) && !w.given(v.Name) && !slices.Contains(names, v.Name) {
					names = append(names, v.Name)
				}
			}
		}
		if names = names[:min(len(names), maxVariables)]; len(names) > 0 {
			all := strings.Join(names, ", ")
			return &sighting{said: "required according to " + w.server.quoted(filepath.Join(dir, "server.json")) + ": " + all,
				names: map[string]string{"variable": names[0], "variables": all}}
		}
	}
	return nil
}

// given reports whether the server gets a variable, or may read it from a .env file.
func (w *witness) given(name string) bool {
	if slices.Contains(w.c.Set, name) {
		return true
	}
	return slices.ContainsFunc(w.server.folders(), func(dir string) bool {
		text, err := readSmall(filepath.Join(dir, ".env"))
		_, ok := parseDotenv(string(text))[name]
		return err == nil && ok
	})
}

// listenNames are the variables and options by which servers are told where to listen.
var listenNames = []string{"PORT", "MCP_PORT", "SERVER_PORT", "HTTP_PORT", "MCP_SERVER_PORT", "FASTMCP_PORT", "--port"}

// ofService matches the options of a service that the server connects to: its port is not the server's own.
var ofService = regex.New(`(?i)^--?(?:user(?:name)?|pass(?:word)?|db|database|dbname|schema|connection|remote|target|upstream)\b`)

func seeTakenPort(w *witness) *sighting {
	if slices.ContainsFunc(w.server.spec.Args, ofService.MatchString) {
		return nil
	}
	words := slices.Concat(w.server.spec.Args, w.server.env)
	for i, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok && i > 0 { // --port 3000
			name, text = words[i-1], word
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || !slices.Contains(listenNames, name) || slices.Contains(servicePorts, int(port)) {
			continue
		}
		// A variable may be the user's, and for something else.
		if (strings.HasPrefix(name, "-") || w.mentions(name)) && w.server.m.Accepts("127.0.0.1", int(port)) {
			return &sighting{said: "another process is listening on port " + text, names: map[string]string{"port": text}}
		}
	}
	return nil
}

// servicePorts are ports of other services than MCP servers. 0 lets the system choose one.
var servicePorts = []int{
	0, 22, 25, 80, 143, 389, 443, 465, 587, 993, 1433, 1521, 3306, 5432, 5672, 6379, 9042, 9092, 9200, 11211, 11434, 27017,
}

func seeDeadProxy(w *witness) *sighting {
	for _, name := range proxyVariables(w.server.env) {
		u, err := url.Parse(value(w.server.env, name, false))
		if err != nil || !launch.IsLoopback(u.Hostname()) {
			continue
		}
		if port, _ := strconv.Atoi(portOf(u)); w.server.m.Refuses(u.Hostname(), port) {
			return &sighting{said: "nothing is listening on the proxy's port " + portOf(u),
				explain: name + " is set to a proxy on this machine that is not running: port " + portOf(u) + " refuses connections.",
				fix:     "Start the proxy, or correct or remove " + name + " in the server's environment."}
		}
	}
	return nil
}

// ownAddress matches the names of variables for the server's own address.
var ownAddress = regex.New(`(?i)(?:^|_)(?:PROXY|LISTEN|BIND|BASE|SELF|PUBLIC|SERVER|CALLBACK|REDIRECT|ORIGINS?|NO_PROXY)(?:_|$)`)

func seeDeadService(w *witness) *sighting {
	for _, s := range w.server.settings(w.server.spec) {
		if host := s.address.Hostname(); !ownAddress.MatchString(s.name) && w.server.m.Refuses(host, s.port) {
			port := strconv.Itoa(s.port)
			return &sighting{said: "nothing is listening on port " + port, names: map[string]string{"host": host, "port": port}}
		}
	}
	return nil
}

func seeUnreadDotenv(w *witness) *sighting {
	own := w.server.own()
	start, _ := w.server.start()
	if own == "" || own == start {
		return nil
	}
	text, err := readSmall(filepath.Join(own, ".env"))
	if err != nil || isFile(filepath.Join(start, ".env")) {
		return nil
	}
	for name := range parseDotenv(string(text)) {
		if slices.Contains(w.c.Set, name) {
			return nil // they are passed in another way
		}
	}
	return &sighting{said: w.server.quoted(filepath.Join(own, ".env")) + " is not in the working directory"}
}
