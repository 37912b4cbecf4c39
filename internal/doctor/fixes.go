package doctor

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Fixes returns a function that proposes fixes for a diagnosis on machine m, most likely first:
// those that gauze may try by itself, and those that only a person may apply.
//
// A fix that gauze tries by itself changes, in memory, how the same program is started or the same
// server is reached, and takes its values only from sources that package trust allows; judged
// enforces that for all fixes. It never changes what runs: no different package, version or runner,
// no variable that loads code, no different host.
func Fixes(m *Machine) func(Diagnosis, Case, launch.Spec) []Fix {
	return func(d Diagnosis, c Case, spec launch.Spec) (fixes []Fix) {
		newPlan(m, d, c, spec).each(func(some []Fix) bool {
			fixes = append(fixes, some...)
			return true
		})
		return fixes
	}
}

// each calls use with the fixes of one remedy after the other, until use returns false.
func (p *plan) each(use func([]Fix) (more bool)) {
	none := true
	try := func(r remedy) bool {
		fixes := r(p)
		none = none && len(fixes) == 0
		for i := range fixes {
			fixes[i] = judged(fixes[i])
			fixes[i].About, fixes[i].Next = p.clean(fixes[i].About), p.clean(fixes[i].Next)
		}
		return use(fixes)
	}
	for _, r := range remedies()[p.d.Cause] {
		if !try(r) {
			return
		}
	}
	if none && p.d.unexplained() {
		for _, r := range obvious() {
			if !try(r) {
				return
			}
		}
	}
	try((*plan).proposal)
}

// plan is what remedies work with: a diagnosis, the case it is from and the machine.
type plan struct {
	*Machine
	d    Diagnosis
	c    Case
	spec launch.Spec
	env  []string          // the server's environment
	said map[string]string // what the cause's clue captured: foreign text
}

// clean removes control characters and known secrets from our own words. Patterns would also hide
// placeholders such as Authorization=NAME in them: foreign values are quoted where they enter.
func (p *plan) clean(text string) string { return p.c.Secrets.Redact(plaintext.Clean(text)) }

// quoted returns the path of a file or directory, fit to be shown. Patterns see one element at a
// time: a long path as a whole can look like a random key.
func (p *plan) quoted(path string) string {
	elements := strings.Split(p.c.Secrets.Redact(path), string(filepath.Separator))
	for i, element := range elements {
		elements[i] = redact.Quote(element)
	}
	return strings.Join(elements, string(filepath.Separator))
}

// remedy proposes fixes for a plan.
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

// obvious returns the remedies for mistakes that are visible in a Spec without any evidence.
func obvious() []remedy {
	return []remedy{splitLine, commandToURL, expandTilde, fillIn, keepStdin}
}

// remedies returns the remedies by cause.
var remedies = sync.OnceValue(func() map[string][]remedy {
	program := []remedy{expandTilde, joinSpaces, locateProgram, otherPython, siblingRunner, installProgram}
	paths := []remedy{expandTilde, fillIn, joinSpaces}
	values := []remedy{fillIn, forwardVariable, findVariable}
	address := []remedy{findEndpoint}
	keys := []remedy{fillIn, renewKey}
	refused := []remedy{fillIn, composePort, localSpelling, otherPort, startService}
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
		"invalid_api_key":                keys,
		"http_unauthorized":              keys,
		"http_forbidden":                 keys,
		"auth_header_malformed":          keys,
		"wrong_kind_of_credential":       keys,
		"expired_token_hidden_in_200":    keys,
		"token_scope_insufficient":       keys,
		"db_grant_missing":               {fillIn},
		"hostname_wrong":                 {fillIn},
		"oauth_not_completed":            {fillIn},

		"trailing_slash_redirect": address,
		"sse_vs_streamable":       address,
		"wrong_endpoint_path":     address,
		"http_not_found":          address,

		"local_http_server_not_running": refused,
		"companion_app_not_running":     refused,
		"container_localhost":           {hostOfContainer, composePort, startService},

		"stdin_not_connected":    {keepStdin},
		"dotenv17_banner":        {quiet},
		"stdout_log_pollution":   {quiet},
		"npx_cold_start_timeout": {retryFromCache, installModules, dependencies},
		noAnswer:                 append(obvious(), installModules, composePort, dependencies),

		"wrong_package_name":        {similarPackage},
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

// runner returns the program that starts the server: the command, or what follows `cmd /c` or `env`.
func (p *plan) runner() string {
	if words := withoutShell(append([]string{p.spec.Command}, p.spec.Args...)); len(words) > 0 {
		return program(words[0])
	}
	return ""
}

// copied returns a Spec that shares no slice with s.
func copied(s launch.Spec) launch.Spec {
	s.Args, s.Header = slices.Clone(s.Args), slices.Clone(s.Header)
	s.Env = slices.Clone(s.Environment())
	return s
}

// value returns a variable of an environment. If it is set more than once, the last one counts.
func value(env []string, name string, fold bool) string {
	v, _ := lookup(env, name, fold)
	return v
}

// lookup is value that also reports whether the variable is set.
func lookup(env []string, name string, fold bool) (string, bool) {
	for _, pair := range slices.Backward(env) {
		if key, value, ok := strings.Cut(pair, "="); ok && (key == name || fold && strings.EqualFold(key, name)) {
			return value, true
		}
	}
	return "", false
}

// set returns an environment in which a variable has this value only.
func set(env []string, name, value string, fold bool) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		key, _, ok := strings.Cut(pair, "=")
		return ok && (key == name || fold && strings.EqualFold(key, name))
	})
	return append(env, name+"="+value)
}

// firstOnPath returns s with a directory first on its PATH.
func (m *Machine) firstOnPath(s launch.Spec, dir string) launch.Spec {
	fold := m.OS == "windows"
	old := filepath.SplitList(value(s.Env, "PATH", fold))
	old = slices.DeleteFunc(old, func(d string) bool { return d == dir })
	s.Env = set(s.Env, "PATH", strings.Join(append([]string{dir}, old...), string(filepath.ListSeparator)), fold)
	return s
}
