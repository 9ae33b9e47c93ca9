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

function watch(name: string): void {
	document.title = `${name} – live`;
	$("#watch").hidden = false;
	const fields = name.split("/");
	const last = fields.pop() ?? name;
	const path = document.createElement("span");
	path.className = "muted";
	path.textContent = fields.map((f) => `${f}/`).join("");
	$("#title").replaceChildren(path, last);
	const player = document.createElement("moq-player");
	for (const key of ["latency", "quality", "muted", "statistics", "fingerprint", "report"]) {
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
		const list = $("#broadcasts");
		const names = new Map([...found.values()].map((ns) => [formatNamespace(ns), ns]));
		for (const li of [...list.children]) if (!names.has(li.id)) li.remove();
		// Cards that stay are left alone, since their pictures move.
		for (const [name, ns] of names) {
			if ([...list.children].some((li) => li.id === name)) continue;
			const after = [...list.children].find((li) => li.id.localeCompare(name) > 0);
			list.insertBefore(card(ns), after ?? null);
		}
		$("#count").textContent = found.size === 1 ? "1 broadcast" : `${found.size} broadcasts`;
		$("#empty").hidden = found.size > 0;
		$("#empty h2").textContent = p?.title ?? "Nothing is live right now";
		$("#how").hidden = p !== undefined;
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

/** Most pictures that move at once. */
const MAX_PREVIEWS = 6;

/** Shows a moving picture in each card that is in sight, without sound, and as small as there is. */
const previews = new IntersectionObserver((entries) => {
	for (const e of entries) {
		const name = e.target.closest("li")?.id;
		if (!e.isIntersecting) e.target.querySelector("moq-player")?.remove();
		else if (name && document.querySelectorAll(".preview moq-player").length < MAX_PREVIEWS) {
			const player = document.createElement("moq-player");
			const attributes = {
				url: relay,
				namespace: name,
				quality: "lowest",
				report: "none",
				controls: "none",
				silent: "",
			};
			for (const [key, value] of Object.entries(attributes)) player.setAttribute(key, value);
			player.inert = true;
			player.setAttribute("aria-hidden", "true");
			e.target.prepend(player);
		}
	}
});

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
	path.className = "where";
	path.textContent = parts.join(" / ");
	const preview = document.createElement("div");
	preview.className = "preview";
	const live = document.createElement("em");
	live.textContent = "LIVE";
	preview.append(live);
	previews.observe(preview);
	a.append(preview, last, path);
	li.append(a);
	return li;
}

$("#how code").textContent =
	`ffmpeg -re -i film.mp4 -c:v libx264 -tune zerolatency -g 30 -c:a libopus \\\n` +
	`  -movflags +cmaf+frag_every_frame -f mp4 - |\\\n` +
	`  moq-pub --namespace live/film ${new URL(relay).origin.replace(/^https?/, "moqt")}/`;
if (namespace) watch(namespace);
else void list();
