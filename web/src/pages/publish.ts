import { Chart } from "../element/chart.ts";
import { checkBrowser } from "../player/dial.ts";
import { PlayerError, problemOf } from "../player/problem.ts";
import { Publisher } from "../publish/publisher.ts";
import { type MediaInput, openInput, type SourceKind } from "../publish/sources.ts";

// The page to publish from: camera, screen or a test pattern, in two renditions and sound.

const query = new URLSearchParams(location.search);
const relay = query.get("url") ?? `${location.origin}/`;

const $ = <T extends HTMLElement>(selector: string): T => document.querySelector(selector) as T;
const form = $<HTMLFormElement>("#settings");

const CODECS: Record<string, string[]> = {
	h264: ["avc1.42e01f", "avc1.42e028", "avc1.42001f"],
	vp9: ["vp09.00.31.08"],
	av1: ["av01.0.05M.08"],
};
const HEIGHTS: Record<string, number[]> = {
	"360": [360],
	"360-180": [180, 360],
	"720": [360, 720],
	"1080": [360, 1080],
};

const chart = new Chart({
	title: "Sent",
	series: [
		{ label: "", color: "--good" },
		{ label: "", color: "--better" },
		{ label: "sound", color: "--warm" },
	],
	top: 1e6,
	format: (x) => (x >= 999_500 ? `${+(x / 1e6).toFixed(1)} M` : `${Math.round(x / 1e3)} k`),
});
$("#chart").append(chart.element);

let publisher: Publisher | undefined;
let input: MediaInput | undefined;
let timer: ReturnType<typeof setInterval> | undefined;

for (const [key, value] of query) {
	const field = form.elements.namedItem(key);
	if (field instanceof RadioNodeList || field instanceof HTMLInputElement || field instanceof HTMLSelectElement) {
		field.value = value;
	}
}

form.addEventListener("submit", (e) => {
	e.preventDefault();
	void (publisher ? stop() : start());
});

if (query.has("start")) void start();

async function start(): Promise<void> {
	const data = new FormData(form);
	const field = (name: string) => String(data.get(name) ?? "");
	say("");
	$<HTMLButtonElement>("#go").disabled = true;
	try {
		checkBrowser();
		if (typeof VideoEncoder === "undefined") {
			throw new PlayerError("no-webcodecs", "WebCodecs with encoders is needed, as in Chrome, Edge and Safari.");
		}
		const namespace = field("namespace").trim();
		const heights = HEIGHTS[field("height")] ?? [360, 720];
		const framerate = Number(field("framerate")) || 30;
		input = await openInput(field("source") as SourceKind, heights.at(-1) ?? 720, framerate);
		input.onended = () => void stop();
		$("#preview").replaceChildren(input.preview);
		publisher = new Publisher(
			{
				url: relay,
				namespace,
				codecs: CODECS[field("codec")] ?? [],
				framerate,
				bitrate: Math.round(Number(field("bitrate")) * 1e6),
				audioBitrate: 96_000,
				groupSeconds: 1,
				heights,
			},
			input,
		);
		await publisher.start(new URL("capture-worklet.js", import.meta.url));
		const to = new URLSearchParams({ namespace });
		if (query.has("url")) to.set("url", relay);
		$<HTMLAnchorElement>("#watch").href = `./?${to}`;
		chart.clear();
		timer = setInterval(update, 500);
	} catch (err) {
		const denied = err instanceof DOMException && (err.name === "NotAllowedError" || err.name === "NotFoundError");
		const p = problemOf(err);
		say(
			denied
				? err.name === "NotFoundError"
					? "There is no camera or microphone. The test pattern needs none."
					: "The browser was not allowed to use the camera or screen."
				: `${p.title}. ${p.detail}`,
		);
		await stop();
	} finally {
		$<HTMLButtonElement>("#go").disabled = false;
		render();
	}
}

async function stop(): Promise<void> {
	clearInterval(timer);
	const was = publisher;
	publisher = undefined;
	if (was) await was.stop();
	else input?.stop();
	input = undefined;
	$("#preview").replaceChildren();
	render();
}

function render(): void {
	const on = publisher !== undefined;
	$("#go").textContent = on ? "Stop" : "Go live";
	$("#go").classList.toggle("stop", on);
	$<HTMLFieldSetElement>("#fields").disabled = on;
	$("#live").hidden = !on;
	$("#idle").hidden = on;
	if (!on) $("#status").textContent = "";
}

function update(): void {
	if (!publisher) return;
	const now = performance.now();
	const s = publisher.stats(now);
	$("#status").textContent = s.live ? "Live" : "Connecting";
	$("#status").classList.toggle("on", s.live);
	say(s.problem ? `${s.problem.title}. ${s.problem.detail}` : "");
	const rows = s.video.map((v) => [
		v.name.replace("video-", ""),
		v.codec,
		`${(v.bitrate / 1e6).toFixed(2)} Mbit/s`,
		`${v.framerate} /s`,
		String(v.skipped + v.cut),
	]);
	if (s.audioBitrate !== undefined)
		rows.push(["sound", "opus", `${Math.round(s.audioBitrate / 1000)} kbit/s`, "50 /s", "0"]);
	$("#rows").replaceChildren(
		...rows.map((cells) => {
			const tr = document.createElement("tr");
			tr.append(
				...cells.map((text, i) => {
					const cell = document.createElement(i === 0 ? "th" : "td");
					if (i === 0) cell.setAttribute("scope", "row");
					cell.textContent = text;
					return cell;
				}),
			);
			return tr;
		}),
	);
	$("#subscribers").textContent = String(s.subscribers);
	s.video.slice(0, 2).forEach((v, i) => {
		chart.name(i, v.name.replace("video-", ""));
	});
	chart.push(Date.now(), [s.video[0]?.bitrate, s.video[1]?.bitrate, s.audioBitrate]);
}

function say(words: string): void {
	if ($("#problem").textContent !== words) $("#problem").textContent = words;
	$("#problem").hidden = words === "";
}
