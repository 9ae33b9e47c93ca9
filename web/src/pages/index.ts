import "../player.ts";
import { dial } from "../player/dial.ts";
import { type Problem, problemOf } from "../player/problem.ts";
import { formatNamespace, type Namespace } from "../wire/namespace.ts";

// The page at the root of the relay: the list of broadcasts, or with ?namespace= one of them.

const query = new URLSearchParams(location.search);
/** The relay that has served the page, unless another one is named. */
const relay = query.get("url") ?? `${location.origin}/`;
const namespace = query.get("namespace");

const $ = <T extends HTMLElement>(selector: string): T => document.querySelector(selector) as T;

if (namespace) watch(namespace);
else void list();

function watch(name: string): void {
	document.title = `${name} – live`;
	$("#watch").hidden = false;
	$("#title").textContent = name;
	const player = document.createElement("moq-player");
	for (const key of ["latency", "quality", "muted", "statistics", "fingerprint"]) {
		const value = query.get(key);
		if (value !== null) player.setAttribute(key, value);
	}
	player.setAttribute("url", relay);
	player.setAttribute("namespace", name);
	$("#player").append(player);
	const quote = (s: string) => s.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
	$("#embed code").textContent =
		`<script type="module" src="${quote(new URL("player.js", location.href).href)}"></script>\n` +
		`<moq-player url="${quote(relay)}" namespace="${quote(name)}"></moq-player>`;
	$("#copy").addEventListener("click", () => {
		void navigator.clipboard?.writeText($("#embed code").textContent ?? "").then(() => {
			$("#copy").textContent = "Copied";
			setTimeout(() => {
				$("#copy").textContent = "Copy";
			}, 1500);
		});
	});
}

async function list(): Promise<void> {
	$("#list").hidden = false;
	const found = new Map<string, Namespace>();
	const render = (p?: Problem) => {
		const items = [...found.values()].map(card).sort((a, b) => a.id.localeCompare(b.id));
		$("#broadcasts").replaceChildren(...items);
		$("#count").textContent = found.size === 1 ? "1 broadcast" : `${found.size} broadcasts`;
		$("#empty").hidden = found.size > 0;
		$("#empty h2").textContent = p?.title ?? "Nothing is live right now";
		$("#empty p").textContent = p?.detail ?? "Broadcasts appear here by themselves as soon as they start.";
	};
	for (let wait = 500; ; wait = Math.min(5000, wait * 2)) {
		try {
			const session = await dial({ url: relay, fingerprint: undefined }, {}, new AbortController().signal);
			found.clear();
			render();
			wait = 500;
			session.subscribeNamespace([], {
				added: (ns) => {
					found.set(JSON.stringify(ns), ns);
					render();
				},
				removed: (ns) => {
					found.delete(JSON.stringify(ns));
					render();
				},
			});
			render(problemOf(await session.closed));
		} catch (err) {
			const p = problemOf(err);
			found.clear();
			render(p);
			if (!p.retrying) return;
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
	}
}

function card(ns: Namespace): HTMLElement {
	const name = formatNamespace(ns);
	const li = document.createElement("li");
	li.id = name;
	const a = document.createElement("a");
	const to = new URLSearchParams(query);
	to.set("namespace", name);
	a.href = `?${to}`;
	const parts = [...ns];
	const last = document.createElement("strong");
	last.textContent = parts.pop() ?? name;
	const path = document.createElement("span");
	path.textContent = parts.join(" / ");
	const live = document.createElement("em");
	live.textContent = "LIVE";
	a.append(live, last, path);
	li.append(a);
	return li;
}
