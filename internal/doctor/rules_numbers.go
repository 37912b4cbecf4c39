package doctor

import "strings"

// numberClues returns errors of operating systems by their numbers, as runtimes print them, together
// with what they are about: the number alone does not say whether a program, a file or a connection
// is meant.
func numberClues() map[string][]clue {
	ofSpawn := func(x *exam, m *match) bool { return spawning.MatchString(m.said) || spawning.MatchString(x.text) }
	return map[string][]clue{
		"runtime_not_installed": {
			{strong, `\bWin32Exception\b[^\n]{0,20}\(2\)|\bExec failed, error: 2\b|\bposix_spawnp?\b[^\n]{0,40}\b(?:errno|error):? 2\b`, nil},
			{likely, `(?i)\bcode(?:=|: ?)['"]?ENOENT['"]?`, ofSpawn},
		},
		"missing_exec_bit": {
			{strong, `\bWin32Exception\b[^\n]{0,20}\((?:5|13)\)|\bExec failed, error: 13\b|\bCreateProcess error=5\b|\berror=13, Permission denied|\berrno: -13,[^\n]{0,80}\bsyscall: 'spawn`, nil},
		},
		"wrong_cpu_arch": {
			{strong, `\bWin32Exception\b[^\n]{0,20}\((?:8|193|216)\)|\bExec failed, error: 8\b|\bCreateProcess error=(?:193|216)\b|\berror=8, Exec format error`, nil},
		},
		"cwd_does_not_exist": {
			{strong, `\bCreateProcess error=267\b|\bWin32Exception\b[^\n]{0,20}\(267\)`, nil},
		},
		"too_many_open_files": {
			{strong, `\bExec failed, error: (?:7|11|24)\b|\berror=(?:7|11|24), `, nil},
		},
		"npx_cache_corrupt": {
			{strong, `npm (?:ERR!|error) errno -(?:4082|4051|4075|39|66)\b`, nil},
		},
		"access_denied": {
			{likely, `npm (?:ERR!|error) errno -(?:4048|4092|13|1)\b`, nil},
		},
		"private_ca_not_trusted": {
			{certain, `certificate is not standards compliant|\bSEC_E_UNTRUSTED_ROOT\b|NSURLErrorDomain Code=-120[1-4]|\bcurl: \(60\)`, nil},
		},
		"tls_handshake_failed": {
			{certain, `\bSSL_ERROR_(?:SYSCALL|SSL|ZERO_RETURN)\b|\bcurl: \(35\)|NSURLErrorDomain Code=-1200`, nil},
		},
		"proxy_env_breaks": {
			{strong, `(?i)\bproxy\b[^\n]{0,60}\b(?:ECONNREFUSED|ETIMEDOUT|ENOTFOUND|407)\b|\bECONNREFUSED\b[^\n]{0,40}\bproxy\b`, func(_ *exam, m *match) bool {
				return !strings.Contains(m.said, "MCP Proxy") && !strings.Contains(m.said, "mcp-proxy")
			}},
		},
	}
}

var spawning = &wording{source: `(?i)\bspawn|posix_spawn|child_process|execv|CreateProcess`}
