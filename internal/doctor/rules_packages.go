package doctor

import (
	"path"
	"slices"
	"strings"
)

// packageCauses returns the causes about packages and versions that a registry does not have.
func packageCauses() []cause {
	return []cause{
		{
			name: "bad_generated_args", category: ConfigMalformed,
			explain: "The arguments are wrong: Docker interpreted {package|one of them} as an image name.",
			fix:     "Correct \"args\": the image must appear once, after all options of docker run.",
			clues: []clue{
				{certain, `(?:Unable to find image '|pull access denied for |repository |manifest for )(?P<package>[\w.@/-]+)`, func(_ *exam, m *match) bool {
					return slices.Contains([]string{"run", "docker", "exec", "stdio", "npx", "uvx", "sh", "bash", "true", "false", "mcp", "start", "serve", "http"}, m.names["package"])
				}},
				{certain, `docker: invalid reference format`, nil},
				{certain, `"docker run" requires at least 1 argument|docker: 'docker run' requires at least`, nil},
				{certain, `(?:Unable to find image '|pull access denied for )(?P<package>[A-Z_]{4,})\b`, nil},
			},
			hides: []string{"docker_image_not_published", "docker_image_wrong_registry"},
		},
		{
			name: "stale_registry_login", category: AuthFailed,
			explain: "The image registry rejected the login stored on this machine. Public images such as {package|this one} do not require a login.",
			fix:     "Log out of the registry, then try again: `docker logout REGISTRY`",
			clues: []clue{
				{certain, `Head "https://(?P<host>[\w.-]+)/v2/(?P<package>[^"\n]+?)/manifests/[^"\n]+": denied: denied`, nil},
				{certain, `(?i)error getting credentials - err: [^\n]+`, nil},
				{certain, `https://(?P<host>[\w.-]+)/(?:v2/|token\?)[^\n]*?(?:: denied: denied|: 403 Forbidden|denied: Your authorization token has expired)`, nil},
				{certain, `denied: Your authorization token has expired`, nil},
			},
			hides: []string{"docker_image_not_published", "http_unauthorized", "wrong_package_name", "package_unpublished"},
		},
		{
			name: "package_registry_login", category: AuthFailed,
			explain: "The package registry denied npm, pip or uv access to the package: the login stored on this machine is missing, has expired or lacks permission. The server itself was not started.",
			fix:     "Log in to that registry again (`npm login`), or renew the token in {$home .npmrc}. For GitHub Packages, the token needs the read:packages scope.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv", "pip", "pipx", "python", "python3") },
				fix: "Renew the login for that index: replace the token in UV_INDEX_..._PASSWORD, in {$home .netrc}, or in the index URL in your pip or uv settings."}},
			clues: []clue{
				{strong, `npm (?:ERR!|error) code E40[13]`, nil},
				{strong, `npm (?:ERR!|error) (?:Unable to authenticate, your authentication token seems to be invalid|Incorrect or missing password|need auth|This command requires you to be logged in|40[13] (?:40[13] )?(?:Unauthorized|Forbidden))`, nil},
				{strong, `npm notice Access token expired or revoked`, nil},
				{strong, `ERR_PNPM_FETCH_40[13]|(?:GET|Get) https?://\S+: (?:Unauthorized|Forbidden) - 40[13]|Permission permission_denied: (?:read_package|The token provided)`, nil},
				{strong, "(?s)Failed to fetch:? `https?://[^`\\n]*/simple/[^`\\n]*`.{0,300}?40[13] (?:Unauthorized|Forbidden)|(?:40[13]) Client Error[^\\n]{0,80}/simple/", nil},
				{strong, `(?i)\bindex\b[^\n]{0,80}could not be queried due to a lack of valid authentication credentials`, nil},
			},
			hides: []string{"http_unauthorized", "http_forbidden", "wrong_package_name", "package_unpublished", "registry_unreachable", "token_scope_insufficient", "access_denied", "invalid_api_key", "dependency_version_drift"},
		},
		{
			name: "npx_not_confirmed", category: PackageNotFound,
			explain: "npx must install {package|the package} first and asks for confirmation. The user cannot answer, because the MCP client uses stdin for its messages.",
			fix:     "Add -y before the package in \"args\", if you trust it: `npx -y {pinned|PACKAGE}`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.has("--no-install", "--no") },
				explain: "{package|The package} is not installed, and --no-install or --no in \"args\" forbids npx to install it.",
				fix:     "Install the package first, or replace that option with -y: `npx -y {pinned|PACKAGE}`"}},
			clues: []clue{
				{certain, `npx canceled due to missing packages and no YES option(?:: \[\s*"(?P<package>[^"\n]+?)@?")?`, nil},
				{certain, `npm (?:ERR!|error) canceled\b`, func(x *exam, _ *match) bool { return x.runs("npx") }},
			},
		},
		{
			name: "docker_image_wrong_registry", category: PackageNotFound,
			explain: "The image {package|that was requested} is not in the registry.",
			fix:     "Look up the image's full name, including its registry, in the server's documentation, and use that name.",
			clues: []clue{
				{certain, `manifest for (?P<package>[\w./:@-]+) not found`, nil},
				{certain, `(?P<package>[\w./:-]+): not found\b[^\n]{0,40}manifest|manifest unknown`, nil},
				{strong, `failed to resolve reference "(?P<package>[^"\n]+)": [^\n]*?not found`, nil},
			},
		},
		{
			name: "docker_image_not_published", category: PackageNotFound,
			explain: "Docker found no image {package|with that name} to download. The image must be built first, has a different name, or is private.",
			fix:     "Correct the image's name, or log in to its registry. If you have the source, build the image in the source directory: `docker build -t {package|IMAGE} .`",
			clues: []clue{
				{certain, `pull access denied for (?P<package>[\w./:-]+)`, nil},
				{certain, `(?i)repository (?P<package>[\w./:-]+) not found: does not exist or no pull access`, nil},
				{strong, `requested access to the resource is denied`, nil},
				{strong, `(?:Head|Get) "https://[\w.-]+/v2/(?P<package>[^"\n]+?)/manifests/[^"\n]+": (?:denied|unauthorized)(?:$|\s|: auth)`, nil},
				{strong, `unauthorized: authentication required`, nil},
				{strong, `No such image: (?P<package>[\w./:@-]+)`, nil},
				{strong, `Error: initializing source docker://(?P<package>\S+): `, nil},
				{likely, `Unable to find image '(?P<package>[^'\n]+)' locally`, func(x *exam, m *match) bool {
					return strings.HasSuffix(m.names["package"], ":local") || strings.HasSuffix(m.names["package"], ":dev")
				}},
			},
			hides: []string{"http_unauthorized", "access_denied", "oauth_not_completed"},
		},
		{
			name: "version_not_published", category: PackageNotFound,
			explain: "{package|The package} has no published version {version|that matches the request}.",
			fix:     "List the published versions and request one of them: `npm view {package|PACKAGE} versions`",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv", "pip", "pipx", "pip3") }, fix: "Look up the published versions in the package's release history, and request one of them."},
				{when: func(x *exam, _ *match) bool { return !x.runs("npx", "npm", "pnpm", "bunx", "") }, fix: "Look up the published versions in the server's documentation, and request one of them."},
			},
			clues: []clue{
				{certain, `No matching version found for (?P<package>@?[^@\s]+)@(?P<version>[^\s]+)`, nil},
				{certain, `npm (?:ERR!|error) code ETARGET`, nil},
				{certain, `ERR_PNPM_NO_MATCHING_VERSION[^\n]*?(?:for (?P<package>\S+))?`, nil},
				{certain, `\bthere\s+(?:is|are)\s+no\s+versions?\s+of\s+(?P<package>[\w.-]+)(?:\[[^\]]*\])?(?P<version>[=<>!~][^\s]*)?`, nil},
				{certain, `[Bb]ecause\s+only\s+(?P<package>[\w.-]+)(?P<version>[<>=][^\s]*)(?:\s+(?:is|are|was))?\s+available`, func(x *exam, _ *match) bool {
					return x.pinned() || !strings.Contains(x.text, "yanked")
				}},
				{strong, `(?:could not|Could not) find a version that satisfies the requirement (?P<package>[\w.\[\]-]+?)(?P<version>[=<>!~]=?[^\s]*)? \(from versions: \d`, nil},
				{certain, `Couldn't find any versions for "(?P<package>[^"\n]+)" that matches "(?P<version>[^"\n]+)"`, nil},
				{certain, `No version matching "(?P<version>[^"\n]+)" found for specifier "(?P<package>[^"\n]+)"`, nil},
				{strong, `(?i)could not find npm package '(?P<package>[^'\n]+)' matching '(?P<version>[^'\n]+)'`, nil},
				{certain, `unknown revision (?P<version>\S+)|no matching versions for query "(?P<package>[^"\n]+)"`, nil},
				{certain, `couldn't find remote ref (?P<version>\S+)|Remote branch (?P<package>\S+) not found in upstream`, nil},
				{strong, `NU1102: Unable to find package (?P<package>\S+) with version`, nil},
			},
			hides: []string{"wrong_package_name", "package_unpublished"},
		},
		{
			name: "wrong_runner", category: PackageNotFound,
			explain: "{package|The package} cannot be run this way: it contains no program to run, or it belongs to a different language's registry.",
			fix:     "Start npm packages with npx and Python packages with uvx, as the server's documentation shows.",
			clues: []clue{
				{certain, `could not determine executable to run`, nil},
				{strong, `(?i)connection closed|exited|disconnected|failed to (?:start|load|connect|resolve)`, func(x *exam, m *match) bool {
					name := x.packageName() // only npm has scopes and these bridges
					return x.runs("uvx", "pipx") && (strings.HasPrefix(name, "@") || strings.HasPrefix(name, "mcp-remote") || strings.HasPrefix(name, "supergateway"))
				}},
				{certain, "Package `(?P<package>[^`\\n]+)` does not provide any executables", nil},
				{certain, `No executables are provided by (?:package )?` + "`?(?P<package>[^`\\s]+)", nil},
				{certain, `No apps associated with package (?P<package>\S+)`, nil},
				{strong, `error: could not determine executable to run for package (?P<package>\S+)`, nil},
			},
		},
		{
			name: "wrong_package_name", category: PackageNotFound,
			explain: "The registry has no package {package|with that name}: the name is wrong or was changed, or the package was never published.",
			fix:     "Look up the exact name of {package|the package} in the server's own documentation and correct the entry. Do not use a name that only looks similar.",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.runs("npx", "npm", "pnpm", "yarn") },
				fix: "Look up the exact name in the server's own documentation and correct the entry. To check that a name exists: `npm view {package|NAME}`"}},
			clues: []clue{
				{certain, `['"]?(?P<package>@?[\w./-]+?)(?:@[^'"\s]+)?['"]? is not in (?:this|the npm) registry`, nil},
				{certain, `404 Not Found - GET https?://[^/\s]+/(?P<package>(?:@|%40)?[\w.%/-]+)`, nil},
				{strong, `npm (?:ERR!|error) (?:code E404|404 )`, nil},
				{certain, `ERR_PNPM_FETCH_404|GET https?://\S+/(?P<package>\S+): Not Found - 404`, nil},
				{strong, `error: (?P<package>@?[\w./-]+)(?:@\S+)? failed to resolve`, nil},
				{certain, `Couldn't find package "(?P<package>[^"\n]+)" (?:required by|on the)`, nil},
				{certain, `(?:error: )?(?:GET|package) "?https?://\S*registry\S*/(?P<package>\S+?)"? (?:- 404|failed with 404|not found registry 404)`, nil},
				{certain, `error: package "(?P<package>[^"\n]+)" not found`, nil},
				{certain, `npm package '(?P<package>[^'\n]+)' does not exist`, nil},
				{strong, `Distribution not found at: (?P<package>\S+)`, nil},
				{certain, `(?P<package>[\w.-]+)(?:\[[^\]]*\])?\s+(?:│\s+)?was\s+(?:│\s+)?not\s+(?:│\s+)?found\s+(?:│\s+)?in\s+(?:│\s+)?the\s+(?:│\s+)?(?:package\s+(?:│\s+)?registry|cache\b|registry\b)`, nil},
				{strong, `(?i)package ['"` + "`" + `]?(?P<package>@?[\w./-]+)['"` + "`" + `]? (?:was |is |could )?(?:not (?:be )?found|does not exist)`, func(_ *exam, m *match) bool {
					return !strings.Contains(m.said, "will be installed") && !strings.EqualFold(m.names["package"], "manager") // npx prints it before an installation
				}},
				{strong, `npm (?:ERR!|error)[^\n]{0,40}\b404\b`, nil},
				{likely, `(?i)404[^\n]{0,20}Not Found`, func(x *exam, _ *match) bool {
					return x.downloads() && !x.remote() && !x.container() && !strings.Contains(x.text, "POST")
				}},
				{strong, `(?i)connection closed|exited|disconnected|client closed|failed to (?:start|load|connect)`, func(x *exam, m *match) bool {
					name := x.packageName() // a scope without a package
					return x.runs("npx", "bunx", "pnpx") && strings.HasPrefix(name, "@") && !strings.Contains(name, "/")
				}},
				{certain, `(?P<package>[\w.-]+) was not found in the provided package locations`, nil},
				{certain, `(?:could not|Could not) find a version that satisfies the requirement (?P<package>[^\s(]+) \(from versions: none\)`, nil},
				{strong, `No matching distribution found for (?P<package>[^\s]+)`, nil},
				{certain, `(?i)failed to fetch: ` + "`https?://[^`\\n]*/simple/(?P<package>[\\w.-]+)/?`" + `(?s:.*?)404 Not Found`, nil},
				{strong, `npm (?:ERR!|error) (?:code EINVALIDPACKAGENAME|Invalid package name "?(?P<package>[^"\n:]+))`, nil},
				{strong, `npm (?:ERR!|error) (?:code EINVALIDTAGNAME|Invalid tag name "?(?P<package>[^"\s]+))`, nil},
				{strong, `(?i)remote: Repository not found|fatal: repository '(?P<package>[^'\n]+)' not found`, nil},
				{strong, `(?i)could not find a valid gem '(?P<package>[^'\n]+)'|could not find a (?:matching version of )?package (?P<name>\S+)|No available formula with the name "?(?P<formula>[\w@./-]+)|No formulae or casks found for|error: GET https?://\S+/(?P<path>\S+) - 404|Unable to locate package (?P<deb>\S+)`, nil},
				{strong, "error: could not find `(?P<package>[^`\\n]+)` in registry", nil},
				{strong, `NU1101: Unable to find package (?P<package>[\w.-]+)`, nil},
				{strong, `\bmodule (?P<package>\S+): (?:not found|reading [^\n]+: 404)`, nil},
				{strong, `(?i)Registry request failed with status 404|Server (?:"|')?(?P<package>@[\w./-]+)(?:"|')? not found in (?:the )?registry`, nil},
				{strong, `Package '(?P<package>[\w.-]+)' (?:not found|does not exist) (?:on|in) (?:PyPI|npm)`, nil},
			},
			hides: []string{"wrong_endpoint_path", "http_not_found", "token_scope_insufficient"},
		},
		{
			name: "package_unpublished", category: PackageNotFound,
			explain: "The package {package|that was requested} was removed from the registry.",
			fix:     "Look up the package's replacement in the server's documentation. Do not use a package that only looks similar.",
			clues: []clue{
				{certain, `(?i)Unpublished on \d{4}-|404 Unpublished|(?P<package>@?[\w./-]+) has been unpublished`, nil},
				{certain, `(?i)package (?P<package>@?[\w./-]+) (?:was|has been) (?:removed|yanked|unpublished|deleted) from`, nil},
				{certain, `(?i)security holding package`, nil},
				{strong, `(?i)0\.0\.1-security`, nil},
			},
			hides: []string{"wrong_package_name"},
		},
	}
}

// dependencyCauses returns the causes about missing dependencies of the server.
func dependencyCauses() []cause {
	return []cause{
		{
			name: "externally_managed_env", category: DependencyMissing,
			explain: "The system's Python does not allow installing packages into it (PEP 668).",
			fix:     "Use uvx, or install the package into its own environment: `{$python} -m venv .venv`, then `{$venv pip} install PACKAGE`",
			clues: []clue{
				{certain, `externally-managed-environment`, nil},
				{certain, `This environment is externally managed`, nil},
				{certain, `The interpreter at [^\n]+ is externally managed`, nil},
			},
			hides: []string{"venv_not_used"},
		},
		{
			name: "playwright_browser_missing", category: DependencyMissing,
			explain: "The browser that the server controls is not installed ({path|Chromium}).",
			fix:     "Install the browser: `npx playwright install chromium`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return strings.Contains(strings.ToLower(x.text), "puppeteer") }, fix: "Install the browser: `npx puppeteer browsers install chrome`"}},
			clues: []clue{
				{certain, `[bB]rowserType\.launch[^\n]*Executable doesn't exist at (?P<path>[^\n]+)`, nil},
				{strong, `(?i)\b(?:chrome|chromium|firefox|google chrome)(?: browser| executable| binary)? (?:is |was )?not (?:found|installed)`, nil},
				{certain, `Executable doesn't exist at (?P<path>[^\n]*ms-playwright[^\n]*)`, nil},
				{certain, `Please run the following command to download new browsers`, nil},
				{certain, `Could not find Chrom(?:e|ium) \((?:ver|rev)\. (?P<version>[\w.]+)\)`, nil},
				{certain, `Chromium distribution '(?P<path>[^'\n]+)' is not found at`, nil},
				{strong, `(?i)(?:unable to|could not|cannot|failed to) (?:find|locate|launch)[^\n]{0,20}(?:chrome|chromium|browser)\b`, nil},
				{strong, `(?i)no (?:usable )?(?:chrome|chromium|browser)(?: installation| binary| executable)?s? (?:was |were |could be )?found`, nil},
				{strong, `Browser "?(?P<path>[\w-]+)"? is not installed`, nil},
				{strong, `Host system is missing dependencies to run browsers`, nil},
			},
			hides: []string{"binary_download_incomplete", "data_file_missing", "script_missing"},
		},
		{
			name: "companion_addon_missing", category: DependencyMissing,
			explain: "The server requires a plugin or extension in the program it communicates with ({package|see the server's documentation}), but that add-on is not installed or not enabled.",
			fix:     "Install and enable the add-on in that program, then restart the server.",
			clues: []clue{
				{strong, `(?i)(?:is |make sure |ensure |check that )?(?:the )?(?P<package>[\w-]+ (?:addon|add-on|plugin|extension))[^\n]{0,30}(?:is )?not (?:installed|enabled|found in)\b`, nil},
				{strong, `(?i)(?:please )?install the (?P<package>[\w -]{2,40} (?:addon|add-on|plugin|extension))`, nil},
			},
			hides: []string{"companion_app_not_running"},
		},
		{
			name: "leaked_library_path", category: DependencyMissing,
			explain: "The program loads another program's libraries ({path|the client's own}), because the client's LD_LIBRARY_PATH or a similar variable is passed on to the server.",
			fix:     "Clear the variable (and PYTHONHOME and PYTHONPATH, if set) under \"env\" in the server's entry: `\"LD_LIBRARY_PATH\": \"\"`",
			clues: []clue{
				{certain, `(?P<path>/tmp/\.mount_[^:\n]+): (?:version|undefined symbol|cannot open)`, nil},
				{certain, `(?P<path>[^\s:]+\.so[.\d]*): version ['` + "`" + `](?:OPENSSL|CURL|NODE|LIBXML2?|SQLITE|CXXABI)_[\w.]+['’] not found`, nil},
				{certain, `/snap/[^\s:]+[^\n]{0,80}(?:undefined symbol|version ['` + "`" + `])`, nil},
				{strong, `(?:symbol lookup error|undefined symbol): [^\n]+`, nil},
				{strong, `Fatal Python error: init_fs_encoding[^\n]*|SRE module mismatch|Could not find platform independent libraries <prefix>`, nil},
			},
			hides: []string{"musl_vs_glibc", "shared_library_missing"},
		},
		{
			name: "uv_cache_removed", category: DependencyMissing, passes: true,
			explain: "uv's cache is missing files that are still in use, in {path|one of its environments}.",
			fix:     "To let uv rebuild the missing files, clean the cache: `uv cache clean {package|PACKAGE}`",
			clues: []clue{
				{certain, `(?i)(?:failed to|could not|no such file)[^\n]*?(?P<path>[^\s'"` + "`" + `]*[/\\]uv[/\\](?:cache[/\\])?(?:archive-v0|environments-v\d|builds-v0|wheels-v\d|sdists-v\d|interpreter-v\d)[^\s'"` + "`" + `]*)`, nil},
				{certain, `(?P<path>[^\s'"` + "`" + `]*[/\\]uv[/\\](?:cache[/\\])?(?:archive-v0|environments-v\d|builds-v0)[^\s'"` + "`" + `]*)[^\n]{0,40}(?i:no such file|cannot find|bad interpreter|not found)`, nil},
				{strong, `(?i)failed to (?:install|hardlink|clone file|link|persist)[^\n]*?\.cache/uv`, nil},
				{strong, `Failed to read metadata from:? [^\n]*archive-v0|The wheel is invalid: Missing \.dist-info directory`, nil},
			},
			hides: []string{"data_file_missing", "venv_not_used"},
		},
		{
			name: "npx_cache_corrupt", category: DependencyMissing, passes: true,
			explain: "npx's cached copy of the package is damaged or incomplete: some of its files are missing or locked.",
			fix:     "Stop other instances of the server, then delete the cached copy: `{$npxcopy}`",
			clues: []clue{
				{certain, `Cannot find (?:module|package) '[^'\n]+' imported from \S*[/\\]_npx[/\\](?P<hash>[0-9a-f]+)`, canBeDamaged},
				{certain, `Cannot find (?:module|package) '[^'\n]*[/\\]_npx[/\\](?P<hash>[0-9a-f]+)[^'\n]*'`, canBeDamaged},
				{certain, `(?:ENOTEMPTY|EBUSY|EEXIST|EPERM|ENOENT|EINTEGRITY|ETXTBSY|EISDIR)(?s:.*?)[^\s'"]*[/\\]_npx[/\\](?P<hash>[0-9a-f]+)`, nil},
				{certain, `npm (?:ERR!|error|warn|WARN) (?:code |cleanup |tar )?(?:ENOTEMPTY|EBUSY|EINTEGRITY|ECOMPROMISED|TAR_ENTRY_ERROR|TAR_BAD_ARCHIVE|Z_DATA_ERROR|ETXTBSY)`, nil},
				{certain, `npm (?:ERR!|error) (?:Lock compromised|Invalid response body while trying to fetch|Cannot read properties of null \(reading '(?:edgesOut|matches|package|pickAlgorithm|children|isDescendantOf)'\)|Tracker "idealTree" already exists)`, nil},
				{strong, `Cannot find module '[^'\n]+'(?s:.*?)[^\s'"]*[/\\]_npx[/\\](?P<hash>[0-9a-f]+)`, canBeDamaged},
				{strong, `[/\\]_npx[/\\][0-9a-f]+[/\\][^\n]*(?:ERR_MODULE_NOT_FOUND|Unexpected end of (?:input|JSON input)|Invalid package config)`, nil},
				{strong, `ERR_INVALID_PACKAGE_CONFIG`, nil},
				{strong, "", func(x *exam, m *match) bool { return x.npmExit(m, enotempty, ebusy, eexist) }},
			},
			hides: []string{"data_file_missing", "broken_npm_install", "dependency_version_drift", "access_denied", "cache_dir_not_writable", "macos_tcc"},
		},
		{
			name: "broken_package_release", category: DependencyMissing,
			explain: "The published package lacks a file that it needs ({path|part of its build}).",
			fix:     "Report this to the package's maintainers, and request an earlier version in the entry, as NAME@VERSION. To list the versions: `npm view {package|PACKAGE} versions`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return x.runs("uvx", "uv", "pipx", "python", "python3") }, fix: "Request an earlier version in the entry, as NAME==VERSION, and report this to the package's maintainers."}},
			clues: []clue{
				{strong, `Cannot find module '(?P<path>[^'\n]*node_modules[/\\][^'\n]+?[/\\](?:dist|build|lib|out)[/\\][^'\n]+)'`, nil},
				{strong, `(?i)The requested module '[^'\n]+' (?:is a CommonJS module|contains no)`, nil},
				{strong, `ERR_UNSUPPORTED_DIR_IMPORT|Directory import '(?P<path>[^'\n]+)' is not supported`, nil},
				{strong, `(?i)sh: (?:1: |line \d+: )?(?P<path>[\w@./-]+): (?:not found|Permission denied|command not found)`, func(x *exam, m *match) bool {
					return x.runs("npx", "npm", "pnpm", "bunx") && !isRunner(x, m.names["path"]) && strings.Contains(x.line, m.names["path"])
				}},
				{strong, `(?i)no main manifest attribute, in (?P<path>\S+)|Could not find or load main class`, nil},
				{strong, `'(?P<path>[\w@.-]+)' is not recognized as an internal or external command`, func(x *exam, m *match) bool {
					return x.runs("npx", "npm", "pnpm", "bunx") && !isRunner(x, m.names["path"]) && x.has(m.names["path"])
				}},
				{strong, `ERR_PACKAGE_PATH_NOT_EXPORTED|No "exports" main defined in (?P<path>\S+)`, nil},
			},
			hides: []string{"wrong_command_name"},
		},
		{
			name: "console_script_not_installed", category: DependencyMissing,
			explain: "The package is installed, but it does not provide the program {command|that was requested}.",
			fix:     "Install the dependencies in the project's directory: `uv sync`",
			instead: []advice{
				{when: func(x *exam, m *match) bool { return m.names["listed"] != "" }, explain: "The package does not provide a program {command|with that name}. According to uv, it provides {listed|a different one}.",
					fix: "Start the program that the package provides: `uvx --from {pinned|PACKAGE} PROGRAM`"},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "pipx") || x.has("tool") }, fix: "Look up the program's name in the package's documentation, and use it as PROGRAM: `uvx --from {pinned|PACKAGE} PROGRAM`"},
			},
			clues: []clue{
				{certain, "(?s)An executable named `(?P<command>[^`\\n]+)` is not provided by package `(?P<package>[^`\\n]+)`.{0,200}?executables? (?:is|are|were) available:?\\s+[-*] `?(?P<listed>[\\w.-]+)", nil},
				{certain, "(?s)The executable `(?P<command>[^`\\n]+)` was not found.{0,200}?provides? the following executables?[^\\n]*\\s+[-*] `?(?P<listed>[\\w.-]+)", nil},
				{certain, "(?s)(?P<command>[\\w.-]+)' executable script not found in package '(?P<package>[^'\\n]+)'.{0,200}?Available executable scripts:\\s+(?:[-*] )?(?P<listed>[\\w.-]+)", nil},
				{certain, "An executable named `(?P<command>[^`\\n]+)` is not provided by package `(?P<package>[^`\\n]+)`", nil},
				{certain, "The executable `(?P<command>[^`\\n]+)` was not found", nil},
				{certain, "error: Failed to spawn: `(?P<command>[\\w.-]+)`[^\\n]*\\s+[^\\n]{0,120}(?:No such file or directory|program not found|entity not found)", noScript},
				{certain, `'(?P<command>[^'\n]+)' executable script not found in package '(?P<package>[^'\n]+)'`, nil},
				{strong, `error: Failed to spawn: ` + "`(?P<command>[^`/\\\\\\n]+)`", noScript},
				{strong, `(?:importlib\.metadata\.)?PackageNotFoundError: (?:No package metadata was found for )?(?P<package>[\w.-]+)`, nil},
				{strong, `No module named (?P<command>[\w.]+)\.__main__; '(?P<package>[\w.]+)' is a package and cannot be directly executed`, nil},
			},
			hides: []string{"gui_path_missing", "wrong_command_name", "runtime_not_installed", "wrong_directory_argument"},
		},
		{
			name: "dependency_version_drift", category: DependencyMissing,
			explain: "The installed version of a library ({module|not pinned by the server}) does not provide what the server uses.",
			fix:     "Try the latest version of the server. If it also fails, install the version of the library that the server was written for.",
			instead: []advice{
				{when: func(x *exam, m *match) bool { return x.runs("uvx") && olderMCP(x.text, m.names) }, fix: "Pin the older version of the library: `uvx --with 'mcp<2' {pinned|PACKAGE}`"},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx") && x.pinned() }, fix: keepPinned},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx") }, fix: "Request the latest version, which may support the library: `uvx {package|PACKAGE}@latest`"},
				{when: func(x *exam, _ *match) bool { return x.runs("npx") && x.pinned() }, fix: keepPinned},
				{when: func(x *exam, _ *match) bool { return x.runs("npx") }, fix: "Request the latest version, which may support the library: `npx -y {package|PACKAGE}@latest`"},
			},
			clues: []clue{
				{certain, `ImportError: cannot import name '(?P<module>[^'\n]+)' from '(?P<package>[^'\n]+)'`, func(_ *exam, m *match) bool {
					return !slices.Contains([]string{"typing", "datetime", "enum", "asyncio", "collections", "importlib", "types", "functools", "dataclasses"}, m.names["package"])
				}},
				{certain, `ModuleNotFoundError: No module named '(?P<module>mcp\.[\w.]+|pydantic\.[\w.]+|langchain\.[\w.]+|openai\.[\w.]+|fastmcp\.[\w.]+|httpx\.[\w.]+|starlette\.[\w.]+|pkg_resources|distutils)'`, notShadowed},
				{certain, `AttributeError: '(?P<module>Server|FastMCP|McpServer|ClientSession|MCPServer|Settings)' object has no attribute`, nil},
				{certain, `AttributeError: module '(?P<module>[\w.]+)' has no attribute '\w+'`, notShadowed},
				{certain, `TypeError: (?P<module>[\w.]+\.__init__\(\)|[\w.]+\.run\(\)|[\w.]+\(\)) got an unexpected keyword argument`, nil},
				{certain, `TypeError: [^\n]*\(reading '_zod'\)|TypeError: [^\n]{0,60}_(?:parse|def|zod)[^\n]{0,20} is not a function|_parse is not a function`, nil},
				{certain, `zod-compat\.js|zod-json-schema-compat|(?i)cannot convert zod|keyValidator\._parse`, nil},
				{certain, `SyntaxError: (?:The requested module '(?P<module>[^'\n]+)' does not provide an export named|Named export '[^'\n]+' not found)`, nil},
				{certain, `PydanticUserError|pydantic\.errors\.PydanticImportError|PydanticImportError`, nil},
				{certain, "validation errors? for (?P<module>Settings)\\s+(?:debug|log_level|mount_path|host|port)\\s+(?:Field required|Extra inputs)", nil},
				{certain, "(?P<module>\\w+)` is not fully defined; you should define|class-not-fully-defined", nil},
				{strong, `TypeError: (?P<module>[\w.]+) is not a constructor`, nil},
				{certain, `assertRequestHandlerCapability|assertNotificationCapability|assertCanSetRequestHandler`, nil},
				{certain, `Schema (?:method literal must be a string|is missing a method literal)|reading '(?:_def|typeName|_zod|def|shape|safeParse|parse)'\)|(?:safeParse|parseAsync|toJSONSchema|_parse) is not a function`, nil},
				{certain, `(?m)(?:^|[\s:'"])cannot import name '(?P<module>[^'\n]+)' from '(?P<package>[^'\n]+)'`, func(_ *exam, m *match) bool {
					return !slices.Contains([]string{"typing", "datetime", "enum", "asyncio", "collections", "importlib", "types", "functools", "dataclasses"}, m.names["package"])
				}},
				{certain, `TypeError: '(?P<module>FunctionTool|\w*Tool|FunctionResource|FunctionPrompt)' object is not callable`, nil},
				{certain, `The installed pydantic-core version \([^)\n]+\) is incompatible`, nil},
				{strong, `TypeError: [\w.]+\(\) (?:missing \d+ required (?:positional|keyword-only) argument|takes (?:from )?\d+[^\n]{0,30}positional argument)`, func(x *exam, _ *match) bool {
					return strings.Contains(x.text, "<module>") || strings.Contains(x.text, "site-packages") || strings.Contains(x.text, "__init__")
				}},
				{strong, `TypeError: z\d?\.[\w.()]+ is not a function|TypeError: [\w.$]+\([^)\n]*\)\.\w+ is not a function|Class extends value (?:undefined|#<Object>|\[object)`, nil},
				{strong, `NoSuchModuleError: Can't load plugin`, nil},
				{strong, `Package subpath '(?P<module>[^'\n]+)' is not defined by "exports" in`, nil},
				{strong, `ContextualVersionConflict|pkg_resources\.DistributionNotFound|pkg_resources\.VersionConflict`, nil},
				{strong, `requires (?P<module>[\w.-]+[<>=!~]+[\w.,<>=*]+), but you have [^\n]+ which is incompatible`, nil},
				{strong, `npm (?:ERR!|error) (?:code )?ERESOLVE|ERR_PNPM_PEER_DEP_ISSUES`, nil},
				{strong, `TypeError: (?P<module>\w+(?:\.\w+)+) is not a function`, func(x *exam, m *match) bool {
					return !slices.Contains(newInNode, m.names["module"][strings.LastIndexByte(m.names["module"], '.')+1:])
				}},
				{likely, `AttributeError: '(?P<module>\w+)' object has no attribute '\w+'`, func(x *exam, m *match) bool {
					return m.names["module"] != "NoneType" && (strings.Contains(x.text, "<module>") || strings.Contains(x.text, "_app"))
				}},
				{likely, `TypeError: Cannot (?:read properties|read property) of undefined[^\n]*\s+at [^\n]*?(?:@modelcontextprotocol|zod)[/\\]`, nil},
				{strong, `self\.settings = Settings\(`, nil},
				{strong, `[\w.]+\(\) got an unexpected keyword argument|Input should be a valid dictionary or instance of (?P<module>\w+)`, nil},
				{strong, `(?i)\bAs of (?P<module>[\w.-]+) v?\d+\.\d+|\b(?:was|has been|were) removed (?:in|since|as of) (?:version )?v?\d|is no longer supported (?:in|as of) (?:version )?v?\d`, nil},
				{strong, `\bNoSuchMethodError\b|\bIncompatibleClassChangeError\b|\bAbstractMethodError\b|Call to undefined method|MissingMethodException|NoMethodError: undefined method`, nil},
				{strong, `(?s)No solution found when resolving.{0,400}(?:are incompatible|is incompatible|unsatisfiable)`, func(x *exam, m *match) bool {
					return !strings.Contains(m.hit, "not found in") && !strings.Contains(m.hit, "no version") && !strings.Contains(m.hit, "Python>") && !strings.Contains(m.hit, "satisfy Python") && !strings.Contains(m.hit, "available")
				}},
				{strong, `(?i)\b(?:dependency|version) conflict\b|conflicting dependencies|ResolutionImpossible|peer dep\w* (?:conflict|missing)`, nil},
				{guess, `(?s)Traceback \(most recent call last\):.*?(?:archive-v0|site-packages)[/\\].{0,300}line \d+, in <module>\s+(?:from|import) [^\n]+\s*$`, ofALibrary},
				{guess, `(?s)Installed \d+ packages? in [\d.]+m?s.{0,300}Traceback \(most recent call last\):\s+File "[^"\n]*[/\\](?:archive-v0|uv)[/\\]`, ofALibrary},
			},
			hides: []string{"venv_not_used", "server_bug_crash", "env_not_set", "optional_method_probed"},
		},
		{
			name: "module_shadowed", category: Crashed,
			explain: "Python imported a file in the server's directory instead of the package {module|it needs}, because both have the same name.",
			fix:     "Rename that file and delete its compiled copy in __pycache__.",
			clues: []clue{
				{certain, `No module named '[\w.]+'; '(?P<module>\w+)' is not a package`, nil},
				{certain, `(?i)partially initialized module '(?P<module>[\w.]+)'`, nil},
				{certain, `\(consider renaming '(?P<path>[^'\n]+)'(?: since| if) it has the same name as`, nil},
			},
			hides: []string{"venv_not_used", "dependency_version_drift", "server_bug_crash"},
		},
		{
			name: "venv_broken", category: DependencyMissing,
			explain: "The virtual environment {path|of the project} is broken: the Python it was created with was removed or moved.",
			fix:     "Recreate the environment in the project's directory: `uv venv --clear`, then `uv sync`",
			instead: []advice{{when: func(x *exam, _ *match) bool { return !x.runs("uv", "uvx", "") },
				fix: "Recreate the environment in the project's directory: `{$python} -m venv --clear .venv`, then `{$venv pip} install -r requirements.txt`"}},
			clues: []clue{
				{certain, "(?:environment|directory)(?: at)? `?(?P<path>[^`\\n]*?)`? (?:cannot be used because it )?is not a (?:valid|compatible) (?:Python |virtual )?environment", nil},
				{certain, "(?i)broken (?:virtual ?environment|venv|symlink at `[^`\\n]*(?:venv|bin/python)[^`\\n]*`)|(?:virtual ?environment|venv) (?:at \\S+ )?(?:is|seems|appears) (?:to be )?(?:broken|corrupt\\w*)", nil},
				{certain, "Broken Python installation|Failed to inspect Python interpreter from [^\\n]*venv", nil},
				{certain, `No Python at '?"?[^'"\n]+`, func(x *exam, _ *match) bool { return ofVenv.MatchString(x.line) }},
				{certain, `did not find executable at '[^'\n]+python[^'\n]*'`, nil},
				{certain, `Unable to create process using '?"?(?P<path>[^'"\n]*python[^'"\n]*)|failed to locate pyvenv\.cfg|No pyvenv\.cfg file`, nil},
				{strong, `: (?P<path>/[^\n:]*/\.?v?env/bin/python[\d.]*): bad interpreter: No such file`, nil},
			},
			hides: []string{"venv_not_used", "command_path_missing", "gui_path_missing", "data_file_missing", "wrong_directory_argument", "script_missing", "runtime_not_installed"},
		},
		{
			name: "venv_not_used", category: DependencyMissing,
			explain: "The Python that runs the server cannot import {module|a module that it needs}: the packages are in a different environment, such as the project's virtual environment, or are not installed.",
			fix:     "Use the absolute path of the Python in the project's own environment as the command: `{$venv python}`",
			instead: []advice{
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "pipx") && x.pinned() }, explain: undeclared, fix: keepPinned},
				{when: func(x *exam, _ *match) bool { return x.runs("uvx", "pipx") }, explain: undeclared, fix: "Request the latest version, which may include the module: `uvx {package|PACKAGE}@latest`"},
				{when: func(x *exam, _ *match) bool { return x.runs("uv") }, fix: "Install the dependencies in the project's directory: `uv sync`"},
			},
			clues: []clue{
				{strong, `ModuleNotFoundError: No module named '(?P<module>[^'\n]+)'`, func(x *exam, m *match) bool { return !newerPython(m.names["module"]) && notShadowed(x, m) }},
				{strong, `ImportError: No module named '?(?P<module>[\w.]+)`, nil},
				{strong, `python[\d.]*(?:\.exe)?: No module named (?P<module>[\w.]+)`, nil},
				{strong, `ImportError: attempted relative import (?:with no known parent package|beyond top-level package)`, nil},
				{strong, `\bNo module named '(?P<module>[^'\n]+)'`, func(x *exam, m *match) bool { return !newerPython(m.names["module"]) && notShadowed(x, m) }},
			},
		},
		{
			name: "shared_library_missing", category: DependencyMissing,
			explain: "A system library is missing ({module|see the output}).",
			fix:     "Install the package that provides the library with the system's package manager.",
			clues: []clue{
				{certain, `error while loading shared libraries: (?P<module>[^:\n]+)`, nil},
				{certain, `(?:dyld(?:\[\d+\])?: )?Library not loaded: (?P<module>\S+)`, nil},
				{certain, `ImportError: (?P<module>[\w.+-]+\.so[.\d]*): cannot open shared object file`, nil},
				{certain, `(?P<module>[\w.+-]+\.so[.\d]*): cannot open shared object file`, nil},
				{certain, `ImportError: DLL load failed while importing (?P<module>\w+)`, nil},
				{strong, `(?i)(?P<module>[\w-]+\.dll) (?:was )?not found|The code execution cannot proceed because (?P<dll>\S+)`, nil},
				{strong, "", func(x *exam, m *match) bool { return x.exited(m, 3221225781, -1073741515) }},
			},
		},
		{
			name: "native_build_failed", category: DependencyMissing,
			explain: "Compiling part of the server ({module|a native module}) on this machine failed.",
			fix:     "Install the required compiler (build-essential, Xcode Command Line Tools, Visual C++ Build Tools), or use a Node or Python version with prebuilt packages.",
			clues: []clue{
				{strong, `gyp (?:ERR!|error) (?:build error|stack|not ok|find (?:Python|VS))`, nil},
				{strong, `Microsoft Visual C\+\+ 14\.0 or greater is required`, nil},
				{strong, `(?i)failed(?: to)? build(?:ing)? (?:wheel for |` + "`)?(?P<module>[\\w.-]+)", nil},
				{strong, `(?i)could not (?:load|find) (?:the )?["']?[\w-]+["']? native (?:module|binding|addon)|native (?:module|binding|addon)s? (?:not found|missing|failed to load)`, nil},
				{strong, `Failed to (?:prepare|build) (?:distributions|editable|source distribution)|Failed to generate package metadata|build backend returned an error`, nil},
				{strong, `Could not build wheels for (?P<module>[\w.-]+)`, nil},
				{strong, `(?i)prebuild-install (?:warn|ERR!|info)[^\n]*no prebuilt`, nil},
				{strong, `Could not locate the bindings file`, nil},
				{strong, `error: subprocess-exited-with-error|error: metadata-generation-failed|error: command '[^'\n]*(?:gcc|clang|cl\.exe|cc)' failed`, nil},
			},
		},
		{
			name: "broken_npm_install", category: DependencyMissing,
			explain: "The server cannot find the module {module|that it needs}: its dependencies are missing or incomplete.",
			fix:     "Install the dependencies in the server's directory: `npm install`",
			instead: []advice{
				{when: notBuilt("module"), explain: "The server cannot find its own file {module|of a build}. It is the output of a build, so the project has not been built.",
					fix: "Build the project in its directory, then start the server again: `npm install`, then `npm run build`"},
				{when: func(x *exam, _ *match) bool { return x.runs("npx") && x.pinned() }, fix: keepPinned},
				{when: func(x *exam, _ *match) bool { return x.runs("npx") }, fix: "Request the latest version, so that npx reinstalls the package: `npx -y {package|PACKAGE}@latest`"},
				{when: lineContains("optional dependencies"), fix: "Install the dependencies in the server's directory, including optional ones: `npm install --include=optional`"},
				{when: lineContains("LoadError", "cannot load such file", "Gem::", "find gem", "installed gems"), fix: "Install the dependencies in the server's directory: `bundle install`"},
				{when: lineContains("vendor/autoload.php", `" not found`, "undefined function"), fix: "Install the dependencies in the server's directory: `composer install`"},
				{when: lineContains("NoClassDefFound", "ClassNotFound", "no package called", "file or assembly", "@INC", "' not found:"), fix: "Install the dependencies that the server's documentation lists, or use a build that includes them."},
				{when: func(x *exam, _ *match) bool { return x.runs("bun", "bunx") }, fix: "Install the dependencies in the server's directory: `bun install`"},
			},
			clues: []clue{
				{certain, `npm has a bug related to optional dependencies`, nil},
				{strong, `(?:Error: )?Cannot find (?:module|package) '(?P<module>[^'\n]+)'`, func(_ *exam, m *match) bool { return !strings.HasPrefix(m.names["module"], "node:") }},
				{strong, `Error \[ERR_MODULE_NOT_FOUND\]|code: 'MODULE_NOT_FOUND'`, nil},
				{strong, `error: Cannot find (?:module|package) "(?P<module>[^"\n]+)" from`, nil},
				{strong, `cannot load such file -- (?P<module>[\w/.-]+)|Gem::MissingSpec\w*|Could not find gem '(?P<gem>[^'\n]+)'|Could not find [\w.-]+ in (?:locally installed gems|any of the sources)`, nil},
				{strong, `(?:NoClassDefFoundError|ClassNotFoundException): (?P<module>[\w./$]+)`, nil},
				{strong, `(?:Class|Interface|Trait) "(?P<module>[\w\\]+)" not found|Call to undefined function (?P<function>\w+)\(\)|Failed opening required '[^'\n]*vendor/autoload\.php'`, nil},
				{strong, `(?i)could not resolve (?:module |dependency |import )?["'](?P<module>@?[\w./-]+)["']|failed to resolve (?:import|module) ["'](?P<import>[^"'\n]+)`, nil},
				{strong, `there is no package called [‘'"](?P<module>[\w.]+)`, nil},
				{strong, `Could not load file or assembly '(?P<module>[^',\n]+)`, nil},
				{strong, `Can't locate (?P<module>\S+) in @INC|module '(?P<lua>[\w.]+)' not found:|Unable to find (?:a )?(?:required )?(?:library|module) ['"]?(?P<other>[\w.-]+)`, nil},
				{strong, `(?:sh|bash): (?:1: |line \d+: )?(?P<module>tsc|tsx|ts-node|vite|rimraf|shx|cross-env|esbuild|tsup): (?:command )?not found`, nil},
			},
			hides: []string{"wrong_command_name"},
		},
	}
}

var ofVenv = &wording{source: `(?i)[/\\]\.?v?env[/\\](?:bin|scripts)[/\\]`}

// noScript reports whether a name is that of a program and not of a script: a package does not
// provide server.py as a program.
func noScript(_ *exam, m *match) bool { return !scriptName.MatchString(m.names["command"]) }

var scriptName = &wording{source: `(?i)\.(?:pyw?|[cm]?[jt]s|sh|rb|ipynb)$`}

// notShadowed reports whether a package is missing and not just hidden by a file of the same name.
func notShadowed(_ *exam, m *match) bool {
	return !strings.Contains(m.said, "is not a package") && !strings.Contains(m.said, "partially initialized") && !strings.Contains(m.said, "consider renaming")
}

// lineContains returns a condition that holds if the clue's line contains one of these.
func lineContains(words ...string) func(*exam, *match) bool {
	return func(_ *exam, m *match) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(m.said, word) })
	}
}

// undeclared explains a module that is missing where a runner installs all that a package declares.
const undeclared = "The package does not install {module|a module} that it needs: it does not declare it, or relies on a library that no longer brings it along."

// mcpLibrary matches evidence that is about the Python library of the protocol and not only about a
// server with that word in its name.
var mcpLibrary = &wording{source: `\bmcp\.(?:server|types|shared|client|cli|os)\b|(?:from|import|module named|module) ['"]?(?:mcp|fastmcp)\b|from '(?:mcp|fastmcp)[.']|site-packages[/\\](?:mcp|fastmcp)[/\\]|'(?:Server|FastMCP|McpServer|ClientSession|MCPServer)' object|\b(?:Fast)?MCP\.(?:__init__|run)\(\)|\b(?:mcp|fastmcp)[<>=!~]=?\d`}

// olderMCP reports whether the library that lacks something is that of the protocol, from what a clue
// captured or, if that names no library, from the whole text.
func olderMCP(text string, names map[string]string) bool {
	for _, key := range []string{"package", "module"} {
		root, _, _ := strings.Cut(names[key], ".")
		switch {
		case slices.Contains([]string{"mcp", "fastmcp", "Server", "FastMCP", "McpServer", "ClientSession", "MCPServer"}, root):
			return true
		case key == "package" && root != "":
			return false
		}
	}
	return mcpLibrary.MatchString(text)
}

// ofALibrary reports whether a stack trace ends in an error that a different version of a library
// can cause, or is cut off before its error. That the packages were just installed proves nothing.
func ofALibrary(x *exam, _ *match) bool {
	all := exceptionLine.regexp().FindAllStringSubmatch(x.text, -1)
	if len(all) == 0 {
		return true
	}
	return slices.Contains([]string{"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "NameError"}, all[len(all)-1][1])
}

// exceptionLine matches the last line of a Python stack trace.
var exceptionLine = &wording{source: `(?m)^(?:[\w]+\.)*(\w+(?:Error|Exception|Exit|Warning|Interrupt|Group))\b(?::|$)`}

// canBeDamaged reports whether a missing module can be a file that a cached copy has lost. A path
// without an extension, imported by a module of a package, is not a file: the code asks for something
// that the installed version of a library does not provide.
func canBeDamaged(_ *exam, m *match) bool {
	found := importedPath.FindStringSubmatch(m.said)
	return found == nil || path.Ext(found[1]) != ""
}

var importedPath = &wording{source: `Cannot find module '([^'\n]*[/\\]node_modules[/\\][^'\n]+)' imported from`}
