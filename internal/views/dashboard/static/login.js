// Logs in with the code in the fragment of the address, and removes it from the address.
"use strict";
(() => {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.getElementById("login");
  form.elements.code.value = code;
  form.submit();
})();
