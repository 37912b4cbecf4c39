package doctor

// languageClues returns what operating systems and shells print in languages other than English:
// the same few sentences, as their vendors translated them. Commands that are not found are in
// notFound.
func languageClues() map[string][]clue {
	return map[string][]clue{
		"port_taken_by_sibling": {
			{certain, `conflit avec un enregistrement existant|Konflikt mit einer vorhandenen Registrierung|conflicto con un registro existente|conflito com um registro existente|conflitto con una registrazione esistente|конфликтует с существующей регистрацией`, nil},
			{certain, `现有注册冲突|現有註冊衝突|既存の登録と競合|每个套接字地址|每個通訊端位址|ソケット アドレス[^\n]{0,40}(?:1|１) ?(?:つ|回)だけ|각 소켓 주소`, nil},
			{certain, `darf jede Socketadresse|chaque adresse de socket|cada dirección de socket|cada endereço de soquete|ogni indirizzo di socket|использование адреса сокета`, nil},
			{certain, `地址已(?:被|在)使用|位址已(?:被|在)使用|アドレスは(?:既|すで)に使用|Adresse wird bereits verwendet|Adresse déjà utilisée|La dirección ya se está usando|Endereço já em uso|Indirizzo già in uso|Адрес уже используется|주소가 이미 사용`, nil},
			{strong, `端口(?:\s*\d+\s*)?(?:已|被)(?:被)?占用|端口号?被占用|ポート[^\n]{0,12}使用(?:中|されて)|포트[^\n]{0,12}사용 중|(?:Port \d+ (?:ist bereits belegt|wird bereits verwendet)|le port \d+ est déjà utilisé|el puerto \d+ ya está en uso|порт \d+ (?:уже )?занят)`, nil},
		},
		"env_not_set": {
			{certain, `(?:缺少|未设置|没有设置|请(?:先)?(?:设置|配置)|必须设置)[^\n]{0,12}(?:环境变量)?[^\n]{0,12}(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]+)|(?P<unset>[A-Z][A-Z0-9]*_[A-Z0-9_]+)[^\n]{0,12}(?:未设置|未配置|为空|不能为空|が設定されていません|が必要です|не зада[нм]|не установлен|n['’]est pas définie|no (?:está )?definid[ao]|nicht gesetzt|fehlt)`, nil},
		},
		"oauth_not_completed": {
			{strong, `未登录|请先登录|请重新登录|登录(?:已)?(?:失效|过期)|ログインしてください|로그인이 필요`, nil},
		},
		"invalid_api_key": {
			{strong, `(?:认证|鉴权|授权|登录)失败|(?i:api ?key|密钥|令牌|token) ?(?:无效|错误|已过期|不正确|不存在)|無効な(?:API|トークン)|認証に失敗|인증에 실패|ошибка авторизации|неверный (?:токен|ключ)`, nil},
		},
		"rate_limit": {
			{certain, `(?:调用)?次数已(?:达|用)|超出(?:配额|限额|额度)|额度(?:不足|已用完)|余额不足|配额(?:已)?(?:用尽|不足|超)|请求(?:过于|太)频繁`, nil},
		},
		"slow_tool_call": {
			{faint, `(?:请求|调用|执行|响应|连接)超时|タイムアウトしました|시간 초과|превышено время ожидания`, nil},
		},
		"companion_app_not_running": {
			{likely, `无法连接到?(?:数据库|服务器|浏览器|插件|Redis|MySQL)|(?:数据库|插件|浏览器)(?:连接失败|未连接|未启动|未运行)`, nil},
			{likely, `目标计算机积极拒绝|目標電腦拒絕|対象のコンピューターによって拒否|대상 컴퓨터에서 연결을 거부|Zielcomputer die Verbindung verweigerte|l['’]ordinateur cible l['’]a expressément refusée|equipo de destino denegó expresamente|máquina de destino as recusou|конечный компьютер отверг|computer di destinazione`, nil},
			{likely, `拒绝连接|连接被拒绝|連線被拒|接続(?:が|を)拒否|Verbindungsaufbau abgelehnt|Connexion refusée|Conexión rehusada|Conexão recusada|Connessione rifiutata|В соединении отказано`, nil},
		},
		"hostname_wrong": {
			{strong, `不知道这样的主机|無法識別這台主機|そのようなホストは不明|알려진 호스트가 없습니다|Der angegebene Host ist unbekannt|Hôte inconnu|Host desconocido|Este host não é conhecido|Host sconosciuto|Этот хост неизвестен`, nil},
		},
		"access_denied": {
			{likely, `拒绝访问|存取被拒|アクセスが拒否|액세스가 거부|Zugriff verweigert|Accès refusé|Acceso denegado|Acesso negado|Accesso negato|Отказано в доступе|权限不够|許可がありません|Keine Berechtigung|Permission non accordée|Permiso denegado|Permissão negada|Permesso negato`, nil},
		},
		"data_file_missing": {
			{likely, `系统找不到指定的(?:路径|文件)|系統找不到指定的|指定された(?:パス|ファイル)が見つかりません|지정된 (?:경로|파일)를 찾을 수 없습니다|Das System kann (?:den angegebenen Pfad|die angegebene Datei) nicht finden|(?:Le (?:chemin d['’]accès|fichier) spécifié est introuvable)|El sistema no puede encontrar (?:la ruta|el archivo)|O sistema não pode encontrar o|Impossibile trovare il (?:percorso|file) specificato|Не удается найти указанный`, nil},
			{likely, `没有那个文件或目录|沒有此一檔案或目錄|そのようなファイルやディレクトリはありません|그런 파일이나 디렉터리가 없습니다|Datei oder Verzeichnis nicht gefunden|Aucun fichier ou dossier de ce (?:type|nom)|No existe el (?:archivo|fichero) o el directorio|Arquivo ou diretório inexistente|File o directory non esistente|Нет такого файла или каталога`, nil},
		},
		"connect_timed_out": {
			{likely, `连接超时|連線逾時|接続(?:が)?タイムアウト|Zeitüberschreitung der Verbindung|Connexion terminée par expiration du délai|Expiró el tiempo de conexión|Tempo esgotado para conexão|Время ожидания соединения истекло`, nil},
		},
		"disk_full": {
			{certain, `磁盘空间不足|设备上没有空间|空き(?:領域|容量)(?:が|は)?(?:不足|ありません)|Auf dem Gerät ist kein Speicherplatz mehr|Aucun espace disponible|No queda espacio en el dispositivo|Не осталось свободного места|Не хватает места на диске`, nil},
		},
	}
}
