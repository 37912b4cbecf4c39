package doctor

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// proposal returns the diagnosis' own advice as a fix for a person, with the risk of following it.
func (p *plan) proposal() []Fix {
	risk, ok := adviceRisk()[p.d.Cause]
	if !ok || p.d.Fix == "" {
		return nil
	}
	return p.advice(risk)
}

// adviceRisk returns the risk of following a diagnosis' advice, by cause.
var adviceRisk = sync.OnceValue(func() map[string]Risk {
	return map[string]Risk{
		"npx_not_confirmed": Config, "wrong_package_name": Config, "version_not_published": Config, "package_unpublished": Config, "wrong_runner": Config, "bad_generated_args": Config,
		"docker_image_wrong_registry": Config, "docker_image_not_published": Install, "unknown_cli_option": Config, "required_argument_missing": Config,
		"json_syntax": Config, "wrong_top_level_key": Config, "args_not_array": Config, "entry_shape_wrong": Config, "config_file_given_as_command": Config,
		"posix_shell_on_windows": Config, "windows_dotted_script_name": Config, "wsl_boundary": Config, "runtime_not_in_image": Config, "leaked_library_path": Config,
		"console_script_not_installed": Config, "shared_tmp_owned_by_other_user": Config, "cache_dir_not_writable": Config, "host_header_not_allowed": Config,
		"docker_mount_missing": Config, "deno_permission": Config, "server_config_invalid": Config, "database_missing": Config,

		"broken_npm_install": Install, "broken_package_release": Install, "binary_download_incomplete": Install, "native_build_failed": Install, "shared_library_missing": Install,
		"playwright_browser_missing": Install, "companion_addon_missing": Install, "externally_managed_env": Install, "musl_vs_glibc": Install, "wrong_cpu_arch": Install,
		"dotnet_runtime_missing": Install, "java_too_old": Install, "uv_too_old": Install, "docker_plugin_missing": Install, "toolchain_too_old": Install, "peer_too_old": Install,
		"native_module_abi": Install, "venv_not_used": Install, "script_missing": Install, "disk_full": Install, "stale_oauth_cache": Install,
		"venv_broken": Install,

		"invalid_api_key": Secret, "http_unauthorized": Secret, "token_scope_insufficient": Secret, "expired_token_hidden_in_200": Secret, "wrong_kind_of_credential": Secret,
		"cloud_credentials_not_in_container": Secret, "db_grant_missing": Secret, "stale_registry_login": Secret,
		"package_registry_login": Secret, "oauth_client_not_registered": Secret,

		"oauth_not_completed": Person, "http_forbidden": Person, "macos_tcc": Person, "npm_cache_root_owned": Person, "npm_prefix_not_writable": Person, "docker_socket_permission": Person, "access_denied": Person,
		"docker_daemon_down": Person, "local_http_server_not_running": Person, "companion_app_not_running": Person, "second_instance_running": Person, "hostname_wrong": Person,
		"network_unreachable": Person, "connect_timed_out": Person, "registry_unreachable": Person, "remote_outage": Person, "endpoint_retired": Person, "rate_limit": Person,
		"tls_handshake_failed": Person, "orphan_processes": Person, "too_many_open_files": Person, "node_heap_oom": Person, "server_bug_crash": Person,
		"bot_challenge": Person, "credit_exhausted": Person, "module_shadowed": Person, "module_type_missing": Person,
	}
})

// installProgram proposes the command that installs a missing program.
func installProgram(p *plan) []Fix {
	name := p.missing()
	how := p.installation(name)
	if how == "" || len(p.Find(name, p.env)) > 0 {
		return nil
	}
	return []Fix{{Name: "install " + name, Risk: Install, About: name + " is not installed, or is not in a usual directory", Next: how}}
}

// installCurrent proposes the command that installs a current interpreter.
func installCurrent(p *plan, kind string) []Fix {
	how := p.installation(kind)
	if kind == "python" && strings.HasPrefix(p.runner(), "uv") {
		how = "Install a current Python: `uv python install 3.13`"
	}
	return []Fix{{Name: "install " + kind, Risk: Install, About: "this machine has no version of " + kind + " that the server supports", Next: how}}
}

// npxCache proposes to delete the broken entry of npx's cache. It is always in the user's own cache,
// whatever path the evidence names.
func npxCache(p *plan) []Fix {
	x := &exam{Case: p.c}
	entries := p.NpxEntries(x.packageName())
	if hash := p.said["hash"]; shapes["hash"].MatchString(hash) {
		if entry := filepath.Join(p.npxFolder(), hash); isFolder(entry) {
			entries = []string{entry}
		}
	}
	return p.removal("npx", entries)
}

// uvCache proposes to delete the entries of uv's cache that belong to the package.
func uvCache(p *plan) []Fix {
	x := &exam{Case: p.c}
	name := withoutVersion(x.packageName())
	if len(p.UvEntries(name)) == 0 {
		return nil
	}
	return []Fix{{Name: "clean-uv-cache", Risk: Install, About: "uv's cached copy of " + shown(p.c.Secrets, name) + " is broken", Next: "Delete the cached copy: `uv cache clean " + p.typing().Quote(shown(p.c.Secrets, name)) + "`"}}
}

// removal proposes to delete the first entry of a cache.
func (p *plan) removal(whose string, entries []string) []Fix {
	if len(entries) == 0 {
		return nil
	}
	return []Fix{{Name: "clean-" + whose + "-cache", Risk: Install, About: whose + "'s cached copy of the package is broken: " + p.quoted(entries[0]),
		Next: "Delete the cached copy: `" + p.typing().RemoveAll(p.quoted(entries[0])) + "`"}}
}

// pinLibrary proposes to start the server with the older library.
func pinLibrary(p *plan) []Fix {
	if p.runner() != "uvx" || program(p.spec.Command) != "uvx" || slices.Contains(p.spec.Args, "--with") || !olderMCP(p.c.words(), p.said) {
		return p.advice(Config)
	}
	apply := func(s launch.Spec) launch.Spec {
		s = copied(s)
		s.Args = slices.Insert(s.Args, 0, "--with", "mcp<2")
		return s
	}
	return []Fix{{Name: "pin mcp<2", Risk: Config, Origins: starts(trust.Entry), About: "the server was written for an older version of the mcp library than the installed one",
		Next: "Start the server with the older library: `" + p.typing().Line("uvx", "--with", "mcp<2") + " " + shownLine(p) + "`", Apply: apply}}
}

// shownLine returns the server's arguments as they are typed in a shell.
func shownLine(p *plan) string {
	return shown(p.c.Secrets, strings.TrimPrefix(p.spec.ShownIn(p.typing()), p.typing().Quote(p.spec.Command)+" "))
}

// advice returns the diagnosis' own fix, for a person.
func (p *plan) advice(risk Risk) []Fix {
	return []Fix{{Name: "advice", Risk: risk, About: p.d.Explanation, Next: p.d.Fix, Command: p.d.Command}}
}

// authority proposes the variable and, if there is one, the file that make a program trust a private
// authority. Certificate checks stay enabled.
func authority(p *plan) []Fix {
	file := p.AuthorityFile()
	if file == "" {
		file = p.typing().Path("path", "to", "ca.pem")
	}
	variable := "NODE_EXTRA_CA_CERTS"
	if r := p.runner(); strings.HasPrefix(r, "uv") || strings.HasPrefix(r, "python") || p.spec.URL != "" {
		variable = "SSL_CERT_FILE"
	}
	about := "the server's certificate is signed by an authority that this machine does not trust"
	if address := p.address(); address != "" {
		if seen := p.Reach(address).TLS; seen.Issuer != "" {
			about += ": " + shown(p.c.Secrets, seen.Issuer)
		}
	}
	return []Fix{{Name: "authority", Risk: Config, About: about,
		Next: fmt.Sprintf("Do not disable certificate checks. Set the variable that points to the authority's certificate: `%s=%s`", variable, p.quoted(file))}}
}

// address returns the server's URL, or "".
func (p *plan) address() string {
	if p.spec.URL != "" {
		return p.spec.URL
	}
	for _, word := range p.spec.Args {
		if launch.CheckURL(word) == nil {
			return word
		}
	}
	return ""
}

// certificate proposes what to do about an invalid certificate.
func certificate(p *plan) []Fix {
	address := p.address()
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return p.advice(Person)
	}
	switch seen := p.Reach(address).TLS; {
	case !seen.Expired.IsZero():
		return []Fix{{Name: "certificate", Risk: Person, About: "the server's certificate expired on " + seen.Expired.Format("2006-01-02"),
			Next: "Have the certificate for " + p.quoted(u.Hostname()) + " renewed, or correct this machine's clock."}}
	case seen.Mismatch && len(seen.Names) > 0:
		return []Fix{{Name: "certificate", Risk: Person, About: "the server's certificate is issued for " + shown(p.c.Secrets, strings.Join(seen.Names, ", ")),
			Next: "Use a host name that the certificate is issued for: `" + shown(p.c.Secrets, seen.Names[0]) + "`"}}
	}
	return p.advice(Person)
}

// proxies proposes to exempt the server's host from the proxy.
func proxies(p *plan) []Fix {
	names, _ := p.NetworkVariables(p.env)
	if len(names) == 0 {
		return p.advice(Config)
	}
	host := "HOST"
	if u, err := url.Parse(p.address()); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return []Fix{{Name: "proxy", Risk: Config, About: "connections go through the proxy set in " + strings.Join(names, ", "),
		Next: fmt.Sprintf("To exempt the host from the proxy, add this under \"env\" in the server's entry: `\"NO_PROXY\": \"%s\"`", shown(p.c.Secrets, host))}}
}

// portOwner names the process that uses a port. Only a person may stop it.
func portOwner(p *plan) []Fix {
	port, _ := strconv.Atoi(p.said["port"])
	if u, err := url.Parse(p.spec.URL); port == 0 && err == nil && u.Host != "" {
		port, _ = strconv.Atoi(portOf(u))
	}
	owner, ok := p.Listener(port)
	if !ok {
		return p.advice(Person)
	}
	return []Fix{{Name: "port-owner", Risk: Person, About: fmt.Sprintf("port %d is used by %s", port, shown(p.c.Secrets, owner.String())),
		Next: fmt.Sprintf("Configure a different port for the server, or have the user stop process %d if it is theirs.", owner.PID), Command: p.typing().Kill(owner.PID)}}
}

// execBit proposes to mark a file as executable.
func execBit(p *plan) []Fix {
	path := p.c.Spawn.Path
	if path == "" {
		path = p.spec.Command
	}
	if !filepath.IsAbs(path) || !isFile(path) || p.OS == "windows" {
		return p.advice(Person)
	}
	return []Fix{{Name: "exec-bit", Risk: Person, About: p.quoted(path) + " is not marked as executable",
		Next: "Start " + p.quoted(path) + " with its interpreter, or have the user mark it as executable if they trust it.", Command: "chmod +x " + p.typing().Quote(path)}}
}
