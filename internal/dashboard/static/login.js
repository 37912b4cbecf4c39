// Logs in with the token in the fragment of the address, and removes it from the address.
"use strict";
(() => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  const form = document.getElementById("login");
  form.elements.token.value = token;
  form.submit();
})();
