package doctor

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// Fixes offers what may help against a diagnosis on a machine, most likely
// first: what we may try by ourselves, and what only a person may do.
//
// A fix that gauze tries by itself changes how the same program is started or
// the same server is reached, in memory, and takes its values only from sources
// that package trust allows: judged sees to that, for all of them. It never
// changes what is run: no other package, version or runner, no variable that
// loads code, no other host.
func Fixes(m *Machine) func(Diagnosis, Case, launch.Spec) []Fix {
	return func(d Diagnosis, c Case, spec launch.Spec) []Fix {
		p := newPlan(m, d, c, spec)
		var fixes []Fix
		for _, r := range remedies()[d.Cause] {
			fixes = append(fixes, r(p)...)
		}
		if len(fixes) == 0 && d.nameless() {
			for _, r := range obvious() {
				fixes = append(fixes, r(p)...)
			}
		}
		fixes = append(fixes, p.proposal()...)
		for i := range fixes {
			fixes[i] = judged(fixes[i])
		}
		return fixes
	}
}

// plan is a diagnosis on its way to fixes.
type plan struct {
	*Machine
	d    Diagnosis
	c    Case
	spec launch.Spec
	env  []string          // what the server gets
	said map[string]string // what the cause's clue caught: foreign text
}

type remedy func(*plan) []Fix

func newPlan(m *Machine, d Diagnosis, c Case, spec launch.Spec) *plan {
	p := &plan{Machine: m, d: d, c: c, spec: spec, env: spec.Environment(), said: map[string]string{}}
	x := &exam{Case: c, line: strings.Join(c.Command, " ")}
	x.text = c.words()
	x.hits = knowledge().finder.find(x.text)
	for n := range causes {
		if causes[n].name == d.Cause {
			if f, ok := x.consider(n); ok && f.match.names != nil {
				p.said = f.match.names
			}
		}
	}
	return p
}

// obvious are mistakes that can be seen in a Spec without any evidence.
func obvious() []remedy {
	return []remedy{splitLine, commandToURL, expandTilde, fillIn, keepStdin}
}

// remedies are what may help, by cause.
var remedies = sync.OnceValue(func() map[string][]remedy {
	program := []remedy{expandTilde, joinSpaces, locateProgram, otherPython, installProgram}
	paths := []remedy{expandTilde, fillIn, joinSpaces}
	values := []remedy{fillIn, forwardVariable, findVariable}
	address := []remedy{findEndpoint}
	refused := []remedy{fillIn, composePort, localSpelling}
	return map[string][]remedy{
		"gui_path_missing":        program,
		"runtime_not_installed":   program,
		"wrong_command_name":      program,
		"command_path_missing":    program,
		"python_vs_python3":       {otherPython, locateProgram, installProgram},
		"helper_tool_not_on_path": {locateProgram, installProgram},
		"version_manager_path":    {realProgram},

		"command_and_args_in_one_string": {splitLine},
		"url_in_stdio_only_client":       {commandToURL},
		"tilde_not_expanded":             paths,
		"cwd_does_not_exist":             paths,
		"wrong_directory_argument":       paths,
		"data_file_missing":              paths,
		"script_missing":                 paths,
		"space_in_path_argument":         {joinSpaces},
		"windows_space_quoting":          {joinSpaces},
		"windows_cmd_shim":               {throughCmd},
		"windows_env_stripped":           {passSystemVariables},
		"windows_stdio_codepage":         {inUTF8},

		"old_node_first_in_path": {newerNode},
		"node_engine_too_old":    {newerNode},
		"native_module_abi":      {newerNode},
		"python_too_old":         {newerPythonOf},
		"venv_not_used":          {projectPython},

		"env_placeholder_not_expanded":   values,
		"env_not_forwarded_to_container": values,
		"env_not_set":                    values,
		"env_given_as_argument":          append([]remedy{argumentToVariable}, values...),
		"dotenv_not_loaded":              append([]remedy{startInProject}, values...),
		"invalid_api_key":                {fillIn},
		"http_unauthorized":              {fillIn},
		"http_forbidden":                 {fillIn},
		"auth_header_malformed":          {fillIn},
		"wrong_kind_of_credential":       {fillIn},
		"db_grant_missing":               {fillIn},
		"hostname_wrong":                 {fillIn},
		"oauth_not_completed":            {fillIn},

		"trailing_slash_redirect": address,
		"sse_vs_streamable":       address,
		"wrong_endpoint_path":     address,
		"http_not_found":          address,

		"local_http_server_not_running": refused,
		"companion_app_not_running":     refused,
		"container_localhost":           {hostOfContainer, composePort},

		"stdin_not_connected":    {keepStdin},
		"dotenv17_banner":        {quiet},
		"stdout_log_pollution":   {quiet},
		"npx_cold_start_timeout": {again},

		"npx_cache_corrupt":         {npxCache},
		"uv_cache_removed":          {uvCache},
		"dependency_version_drift":  {pinLibrary},
		"private_ca_not_trusted":    {authority},
		"certificate_not_valid":     {certificate},
		"proxy_env_breaks":          {proxies},
		"port_taken_by_sibling":     {portOwner},
		"orphan_process_holds_port": {portOwner},
		"wrong_service_on_port":     {portOwner},
		"missing_exec_bit":          {execBit},
		"http_server_run_as_stdio":  {keepRunning},
	}
})

// runner is the program the server is started with, and where it stands: the
// command, or what comes behind `cmd /c` and `env`.
func (p *plan) runner() string {
	if words := withoutShell(append([]string{p.spec.Command}, p.spec.Args...)); len(words) > 0 {
		return program(words[0])
	}
	return ""
}

// copied is a Spec of its own: what is done to it does not show in the other.
func copied(s launch.Spec) launch.Spec {
	s.Args, s.Header = slices.Clone(s.Args), slices.Clone(s.Header)
	s.Env = slices.Clone(s.Environment())
	return s
}

// value is a variable of an environment; the last one counts.
func value(env []string, name string, fold bool) string {
	v, _ := lookup(env, name, fold)
	return v
}

func lookup(env []string, name string, fold bool) (string, bool) {
	for _, pair := range slices.Backward(env) {
		if key, value, ok := strings.Cut(pair, "="); ok && (key == name || fold && strings.EqualFold(key, name)) {
			return value, true
		}
	}
	return "", false
}

// set gives a variable of an environment a value, in place of all it had.
func set(env []string, name, value string, fold bool) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		key, _, ok := strings.Cut(pair, "=")
		return ok && (key == name || fold && strings.EqualFold(key, name))
	})
	return append(env, name+"="+value)
}

// inFront puts a folder first on the PATH of a Spec.
func (m *Machine) inFront(s launch.Spec, dir string) launch.Spec {
	fold := m.OS == "windows"
	old := filepath.SplitList(value(s.Env, "PATH", fold))
	old = slices.DeleteFunc(old, func(d string) bool { return d == dir })
	s.Env = set(s.Env, "PATH", strings.Join(append([]string{dir}, old...), string(filepath.ListSeparator)), fold)
	return s
}
