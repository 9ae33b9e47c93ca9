import { MAX_TARGET, MIN_TARGET, type Target } from "../play/clock.ts";
import { checkBrowser } from "../player/dial.ts";
import type { FromWorker, Quality, ShownFrame, Source, State, ToWorker, TrackChoice } from "../player/messages.ts";
import { type Problem, problemOf } from "../player/problem.ts";
import type { PlayerStats } from "../player/stats.ts";
import { ICONS } from "./icons.ts";
import { SoundOutput } from "./sound-output.ts";
import { StatsPanel } from "./stats-panel.ts";
import { STYLE } from "./style.ts";

/** The controls go away when nothing has moved for so long, in milliseconds. */
const IDLE = 2500;

const STATE_WORDS: Record<State, string> = {
	idle: "Nothing to play",
	connecting: "Connecting",
	waiting: "Waiting for the broadcast",
	loading: "Loading",
	playing: "Playing",
	paused: "Paused",
	stalled: "Waiting for more",
	failed: "Not playing",
};

const TEMPLATE = `
<style>${STYLE}</style>
<div class="frame" part="frame" tabindex="0" role="region" aria-label="Live video"
	aria-keyshortcuts="Space M F S ArrowUp ArrowDown">
	<canvas class="screen" part="screen" aria-hidden="true"></canvas>
	<div class="spinner" hidden><div class="ring"></div></div>
	<div class="notice" hidden><div>${ICONS.warning}<h2></h2><p></p><span class="again"><span class="ring"></span>Trying again</span></div></div>
	<button class="big" type="button" aria-label="Play" hidden>${ICONS.play}</button>
	<button class="unmute" type="button" hidden>${ICONS.muted}<span>Turn sound on</span></button>
	<form class="menu" id="menu" hidden aria-label="Settings">
		<fieldset class="quality"><legend>Quality</legend></fieldset>
		<fieldset class="latency"><legend>Buffer</legend>
			<label><input type="checkbox" name="auto"> As short as the network allows</label>
			<label><span>Wait for late frames</span><small></small></label>
			<input type="range" name="target" min="0" max="100" step="1" aria-label="How long to wait for late frames">
			<div class="ends"><span>sooner</span><span>smoother</span></div>
		</fieldset>
	</form>
	<div class="bar" part="controls" role="group" aria-label="Player controls">
		<button class="play" type="button">${ICONS.pause}</button>
		<button class="mute" type="button">${ICONS.sound}</button>
		<input class="volume" type="range" min="0" max="100" step="1" aria-label="Volume">
		<span class="live"><b><i></i>LIVE</b><span class="delay"></span></span>
		<span class="gap"></span>
		<button class="statistics" type="button" aria-label="Statistics" aria-pressed="false" title="Statistics (S)">${ICONS.stats}</button>
		<button class="settings" type="button" aria-label="Settings" aria-expanded="false" aria-controls="menu" title="Settings">${ICONS.settings}</button>
		<button class="full" type="button" aria-label="Full screen" title="Full screen (F)">${ICONS.enlarge}</button>
	</div>
</div>
<div class="sr" role="status" aria-live="polite"></div>
`;

/**
 * A player of live streams over MOQT.
 *
 *     <moq-player url="https://relay.example/" namespace="live/demo"></moq-player>
 *
 * Attributes:
 *   url          the relay, https: or, while developing, http:
 *   namespace    the broadcast, fields with slashes between them
 *   fingerprint  SHA-256 of the relay's certificate, for one that browsers do not trust
 *   latency      how long late frames are waited for: "auto" (default) or 20 to 2000, in milliseconds
 *   quality      "auto" (default), "lowest", or the name of a video track
 *   volume       0 to 1
 *   muted, paused, statistics
 *   silent       no sound is received at all, as for a preview
 *   controls     "none" leaves them out
 *   report       "none" does not tell the relay how late the frames are shown
 *
 * Events: "statechange", "stats" (twice a second), "tracks", "volumechange".
 * Style: --moq-player-accent, --moq-player-radius; parts "frame", "screen", "controls".
 */
export class MoqPlayer extends HTMLElement {
	/**
	 * Where worker.js and worklet.js are, if not beside this module, as when a bundler has put the module into another
	 * file. Set it before the first player is on the page.
	 */
	static base: string | URL = import.meta.url;

	static observedAttributes = [
		"url",
		"namespace",
		"fingerprint",
		"report",
		"latency",
		"quality",
		"volume",
		"muted",
		"paused",
		"statistics",
		"controls",
	];

	#state: State = "idle";
	#problem: Problem | undefined;
	#stats: PlayerStats | undefined;
	#tracks: TrackChoice[] = [];
	#worker: Worker | undefined;
	#sound: SoundOutput | undefined;
	#panel = new StatsPanel();
	#root: ShadowRoot;
	#screen: HTMLCanvasElement;
	#loadQueued = false;
	#idleTimer: ReturnType<typeof setTimeout> | undefined;
	#abort: AbortController | undefined;
	#shownSound = "";
	#hasSound = false;
	#frameCallbacks = new Map<number, (frame: ShownFrame) => void>();
	#frameHandle = 0;
	/** When a gesture has last let the sound begin. */
	#unblockedAt = Number.NEGATIVE_INFINITY;

	constructor() {
		super();
		this.#root = this.attachShadow({ mode: "open", delegatesFocus: true });
		this.#root.innerHTML = TEMPLATE;
		this.#screen = this.#q("canvas.screen") as HTMLCanvasElement;
		this.#panel.element.hidden = true;
		this.#root.append(this.#panel.element);
		this.#listen();
	}

	/** What is going on; "statechange" tells when it changes. */
	get state(): State {
		return this.#state;
	}

	/** What is wrong, if anything is. */
	get problem(): Problem | undefined {
		return this.#problem;
	}

	/** What was measured last. */
	get stats(): PlayerStats | undefined {
		return this.#stats;
	}

	/** The video tracks one can choose from, the best first. */
	get tracks(): readonly TrackChoice[] {
		return this.#tracks;
	}

	/** The node of the Web Audio API that the sound goes through. */
	get audio(): AudioNode | undefined {
		return this.#sound?.node;
	}

	get paused(): boolean {
		return this.hasAttribute("paused");
	}
	set paused(x: boolean) {
		this.toggleAttribute("paused", x);
	}

	get muted(): boolean {
		return this.hasAttribute("muted");
	}
	set muted(x: boolean) {
		this.toggleAttribute("muted", x);
	}

	get volume(): number {
		const v = Number(this.getAttribute("volume") ?? 1);
		return Number.isFinite(v) ? Math.min(1, Math.max(0, v)) : 1;
	}
	set volume(x: number) {
		this.setAttribute("volume", String(Math.min(1, Math.max(0, x))));
	}

	/** Calls back once, when the next picture is shown, as that of a video element does. It returns a handle. */
	requestVideoFrameCallback(callback: (frame: ShownFrame) => void): number {
		if (this.#frameCallbacks.size === 0) this.#send({ type: "frames", wanted: true });
		this.#frameCallbacks.set(++this.#frameHandle, callback);
		return this.#frameHandle;
	}

	cancelVideoFrameCallback(handle: number): void {
		this.#frameCallbacks.delete(handle);
	}

	#shown(frame: ShownFrame): void {
		const callbacks = [...this.#frameCallbacks.values()];
		this.#frameCallbacks.clear();
		if (callbacks.length === 0) this.#send({ type: "frames", wanted: false });
		for (const f of callbacks) f(frame);
	}

	play(): void {
		this.paused = false;
	}

	pause(): void {
		this.paused = true;
	}

	connectedCallback(): void {
		this.#abort = new AbortController();
		const { signal } = this.#abort;
		// Whatever is clicked first on the page lets the sound start.
		for (const type of ["pointerdown", "keydown"]) {
			document.addEventListener(type, () => this.#unblock(), { signal, capture: true });
		}
		document.addEventListener("fullscreenchange", () => this.#render(), { signal });
		this.#queueLoad();
		this.#render();
	}

	disconnectedCallback(): void {
		this.#abort?.abort();
		this.#stop();
		clearTimeout(this.#idleTimer);
	}

	attributeChangedCallback(name: string, before: string | null, value: string | null): void {
		if (before === value) return;
		switch (name) {
			case "url":
			case "namespace":
			case "fingerprint":
			case "report":
				this.#queueLoad();
				break;
			case "latency":
				if (value !== null && this.#target === undefined) {
					console.warn(
						`moq-player: latency="${value}": want "auto" or milliseconds from ${MIN_TARGET} to ${MAX_TARGET}`,
					);
				}
				this.#send({ type: "target", target: this.#target ?? "auto" });
				break;
			case "quality":
				this.#send({ type: "quality", quality: this.#quality });
				break;
			case "paused":
				this.#send({ type: this.paused ? "pause" : "play" });
				break;
			case "volume":
			case "muted":
				this.#sound?.setVolume(this.volume, this.muted);
				this.dispatchEvent(new Event("volumechange"));
				break;
		}
		this.#render();
	}

	get #target(): Target | undefined {
		const s = this.getAttribute("latency");
		if (s === null || s === "auto") return "auto";
		const n = Number(s);
		return s !== "" && n >= MIN_TARGET && n <= MAX_TARGET ? n : undefined;
	}

	get #quality(): Quality {
		return this.getAttribute("quality") || "auto";
	}

	get #source(): Source | undefined {
		const url = this.getAttribute("url");
		const namespace = this.getAttribute("namespace");
		if (!url || !namespace) return undefined;
		return {
			url: new URL(url, document.baseURI).href,
			namespace,
			fingerprint: this.getAttribute("fingerprint") ?? undefined,
			report: this.getAttribute("report") !== "none",
		};
	}

	/** Loads once after several attributes have been set. */
	#queueLoad(): void {
		if (this.#loadQueued || !this.isConnected) return;
		this.#loadQueued = true;
		queueMicrotask(() => {
			this.#loadQueued = false;
			if (!this.isConnected) return;
			try {
				const source = this.#source;
				if (source) {
					checkBrowser();
					this.#start();
				}
				this.#panel.clear();
				this.#tracks = [];
				this.#send({ type: "load", source });
			} catch (err) {
				this.#set("failed", problemOf(err));
			}
		});
	}

	#start(): void {
		if (this.#worker) return;
		// A canvas can be handed over once; so a player that was taken out and put back gets a new one.
		const screen = this.#screen.cloneNode() as HTMLCanvasElement;
		this.#screen.replaceWith(screen);
		this.#screen = screen;
		const canvas = screen.transferControlToOffscreen();
		const { port1, port2 } = new MessageChannel();
		const worker = newWorker(new URL("worker.js", new URL(MoqPlayer.base, document.baseURI)));
		this.#worker = worker;
		worker.onmessage = (e: MessageEvent<FromWorker>) => this.#message(e.data);
		worker.onerror = (e) => this.#set("failed", problemOf(new Error(e.message || "the worker did not start")));
		const init: ToWorker = {
			type: "init",
			canvas,
			sound: port1,
			target: this.#target ?? "auto",
			quality: this.#quality,
		};
		worker.postMessage(init, [canvas, port1]);
		if (this.paused) this.#send({ type: "pause" });
		if (this.#frameCallbacks.size > 0) this.#send({ type: "frames", wanted: true });
		const sound = new SoundOutput(
			port2,
			(clock) => this.#send({ type: "sound", clock }),
			() => this.#render(),
		);
		this.#sound = sound;
		sound.setVolume(this.volume, this.muted);
		if (this.hasAttribute("silent")) return;
		sound.start(new URL("worklet.js", new URL(MoqPlayer.base, document.baseURI))).catch((err) => {
			console.warn("moq-player: no sound:", err);
		});
	}

	#stop(): void {
		this.#worker?.terminate();
		this.#worker = undefined;
		this.#sound?.close();
		this.#sound = undefined;
		this.#state = "idle";
		this.#problem = undefined;
	}

	#send(m: ToWorker): void {
		this.#worker?.postMessage(m);
	}

	#message(m: FromWorker): void {
		switch (m.type) {
			case "state":
				this.#set(m.state, m.problem);
				break;
			case "tracks":
				this.#tracks = m.video;
				this.#hasSound = m.audio;
				this.#renderQualities();
				this.dispatchEvent(new Event("tracks"));
				break;
			case "size":
				this.style.setProperty("--aspect", `${m.width} / ${m.height}`);
				break;
			case "frame":
				this.#shown(m.frame);
				break;
			case "stats":
				this.#stats = m.stats;
				this.#panel.update(m.stats);
				this.#renderLive();
				this.dispatchEvent(new CustomEvent("stats", { detail: m.stats }));
				break;
		}
	}

	#set(state: State, problem: Problem | undefined): void {
		this.#state = state;
		this.#problem = problem;
		this.#render();
		const words = problem ? `${problem.title}. ${problem.detail}` : STATE_WORDS[state];
		this.#q("[role=status]").textContent = words;
		this.dispatchEvent(new CustomEvent("statechange", { detail: { state, problem } }));
	}

	#q<T extends HTMLElement = HTMLElement>(selector: string): T {
		return this.#root.querySelector(selector) as T;
	}

	#listen(): void {
		const frame = this.#q(".frame");
		const click = (selector: string, act: () => void) =>
			this.#q(selector).addEventListener("click", (e) => {
				e.stopPropagation();
				act();
			});
		click(".play", () => this.#togglePlay());
		click(".big", () => this.#togglePlay());
		click(".mute", () => this.#toggleMute());
		click(".unmute", () => {
			this.muted = false;
			this.#unblock();
		});
		click(".statistics", () => this.#toggleStats());
		click(".settings", () => this.#toggleMenu());
		click(".full", () => this.#toggleFull());
		click(".menu", () => undefined);
		this.#q(".bar").addEventListener("click", (e) => e.stopPropagation());
		frame.addEventListener("click", () => {
			if (!this.#q(".menu").hidden) this.#toggleMenu(false);
			else if (matchMedia("(hover: hover)").matches) this.#togglePlay();
		});
		frame.addEventListener("dblclick", () => this.#toggleFull());
		const volume = this.#q<HTMLInputElement>(".volume");
		volume.addEventListener("input", () => {
			this.volume = volume.valueAsNumber / 100;
			this.muted = volume.valueAsNumber === 0;
		});
		for (const type of ["pointermove", "pointerdown", "keydown"]) frame.addEventListener(type, () => this.#wake());
		frame.addEventListener("pointerleave", () => frame.classList.toggle("idle", this.#state === "playing"));
		this.#root.addEventListener("keydown", (e) => this.#key(e as KeyboardEvent));
		const menu = this.#q<HTMLFormElement>(".menu");
		menu.addEventListener("change", () => this.#menuChanged());
		this.#q<HTMLInputElement>("[name=target]").addEventListener("input", () => this.#menuChanged());
		menu.addEventListener("submit", (e) => e.preventDefault());
	}

	#key(e: KeyboardEvent): void {
		if (e.ctrlKey || e.altKey || e.metaKey) return;
		if (e.key === "Escape" && !this.#q(".menu").hidden) {
			this.#toggleMenu(false);
			this.#q(".settings").focus();
			return;
		}
		const on = e.target as HTMLElement;
		const typing = on instanceof HTMLInputElement;
		switch (e.key) {
			case " ":
			case "k":
				// Buttons have their own use for the space bar.
				if (typing || on instanceof HTMLButtonElement) return;
				this.#togglePlay();
				break;
			case "m":
				this.#toggleMute();
				break;
			case "f":
				this.#toggleFull();
				break;
			case "s":
				this.#toggleStats();
				break;
			case "ArrowUp":
			case "ArrowDown":
				if (typing) return;
				this.volume += e.key === "ArrowUp" ? 0.1 : -0.1;
				this.muted = this.volume === 0;
				break;
			default:
				return;
		}
		e.preventDefault();
	}

	#wake(): void {
		const frame = this.#q(".frame");
		frame.classList.remove("idle");
		clearTimeout(this.#idleTimer);
		this.#idleTimer = setTimeout(() => {
			if (this.#state === "playing" && this.#q(".menu").hidden) frame.classList.add("idle");
		}, IDLE);
	}

	#togglePlay(): void {
		this.paused = !this.paused;
	}

	/** Lets the sound begin, if the browser has waited for a gesture of the user, which this is called from. */
	#unblock(): void {
		if (this.#sound?.blocked) this.#unblockedAt = performance.now();
		this.#sound?.resume();
	}

	#toggleMute(): void {
		// To the user it was muted; the same click has let it begin.
		if (this.#sound?.blocked || performance.now() - this.#unblockedAt < 1000) {
			this.#unblock();
			this.#unblockedAt = Number.NEGATIVE_INFINITY;
			this.muted = false;
			return;
		}
		if (this.muted && this.volume === 0) this.volume = 0.5;
		this.muted = !this.muted;
		this.#sound?.resume();
	}

	#toggleStats(): void {
		this.toggleAttribute("statistics");
	}

	#toggleMenu(open = this.#q(".menu").hidden): void {
		this.#q(".menu").hidden = !open;
		this.#q(".settings").setAttribute("aria-expanded", String(open));
		if (open) {
			this.#renderQualities();
			this.#renderTarget();
			this.#q(".menu").querySelector<HTMLInputElement>("input:checked, input")?.focus();
		}
	}

	#toggleFull(): void {
		if (document.fullscreenElement) void document.exitFullscreen().catch(() => undefined);
		else
			void this.#q(".frame")
				.requestFullscreen?.()
				.catch(() => undefined);
	}

	#menuChanged(): void {
		const data = new FormData(this.#q<HTMLFormElement>(".menu"));
		const quality = data.get("quality");
		if (typeof quality === "string") this.setAttribute("quality", quality);
		if (data.get("auto")) this.setAttribute("latency", "auto");
		else this.setAttribute("latency", String(fromSlider(Number(data.get("target") ?? this.#sliderValue()))));
		this.#renderTarget();
	}

	#sliderValue(): number {
		return this.#q<HTMLInputElement>("[name=target]").valueAsNumber;
	}

	#renderTarget(): void {
		const target = this.#target ?? "auto";
		const slider = this.#q<HTMLInputElement>("[name=target]");
		this.#q<HTMLInputElement>("[name=auto]").checked = target === "auto";
		const value = target === "auto" ? Math.max(MIN_TARGET, this.#stats?.buffer ?? 100) : target;
		if (this.#root.activeElement !== slider) slider.value = String(toSlider(value));
		this.#q(".latency small").textContent = target === "auto" ? "automatic" : `${target} ms`;
		slider.setAttribute("aria-valuetext", target === "auto" ? "automatic" : `${target} milliseconds`);
	}

	#renderQualities(): void {
		const set = this.#q(".quality");
		const showing = this.#tracks.find((t) => t.name === this.#stats?.showing);
		const now = showing && showing.height > 0 ? `${showing.height}p now` : "";
		const choices: [string, string, string][] = [["auto", "Automatic", now]];
		for (const t of this.#tracks) {
			const size = t.height > 0 ? `${t.height}p` : t.name;
			choices.push([t.name, size, t.bitrate > 0 ? `${(t.bitrate / 1e6).toFixed(1)} Mbit/s` : t.codec]);
		}
		const chosen = choices.some(([value]) => value === this.#quality) ? this.#quality : "auto";
		const focused = this.#root.activeElement?.closest(".quality") !== null && this.#root.activeElement !== null;
		const labels = choices.map(([value, words, small]) => {
			const label = document.createElement("label");
			const input = Object.assign(document.createElement("input"), { type: "radio", name: "quality", value });
			input.checked = value === chosen;
			const note = document.createElement("small");
			note.textContent = small;
			label.append(input, words, note);
			return label;
		});
		set.replaceChildren(set.querySelector("legend") as HTMLElement, ...labels);
		if (focused) set.querySelector<HTMLInputElement>("input:checked")?.focus();
	}

	#renderLive(): void {
		const live = this.#state === "playing";
		this.#q(".live").classList.toggle("on", live);
		const delay = this.#stats?.video.find((v) => v.name === this.#stats?.showing)?.delay?.p50;
		// Without a common clock the difference may be anything; then it is better not to tell.
		const known = live && delay !== undefined && delay > 0 && delay < 60_000;
		this.#q(".live .delay").textContent = known ? words(delay) : "";
	}

	#render(): void {
		const paused = this.paused;
		const p = this.#problem;
		const frame = this.#q(".frame");
		const play = this.#q(".play");
		play.innerHTML = paused ? ICONS.play : ICONS.pause;
		play.setAttribute("aria-label", paused ? "Play" : "Pause");
		play.title = paused ? "Play (Space)" : "Pause (Space)";
		this.#q(".big").hidden = !paused;
		const waiting = ["connecting", "loading", "stalled"].includes(this.#state) && !p && !paused;
		this.#q(".spinner").hidden = !waiting;
		const notice = this.#q(".notice");
		notice.hidden = !p || paused;
		if (p) {
			this.#q(".notice h2").textContent = p.title;
			this.#q(".notice p").textContent = p.detail;
			this.#q(".notice .again").hidden = !p.retrying;
			const first = notice.querySelector("svg");
			if (first) first.style.display = p.retrying ? "none" : "";
		}
		const blocked = this.#sound?.blocked ?? false;
		const silent = this.muted || this.volume === 0 || blocked;
		const icon = silent ? "muted" : this.volume < 0.5 ? "quiet" : "sound";
		const mute = this.#q(".mute");
		if (this.#shownSound !== icon) mute.innerHTML = ICONS[icon];
		this.#shownSound = icon;
		mute.setAttribute("aria-label", silent ? "Unmute" : "Mute");
		mute.title = silent ? "Unmute (M)" : "Mute (M)";
		const volume = this.#q<HTMLInputElement>(".volume");
		volume.value = String(Math.round((silent ? 0 : this.volume) * 100));
		volume.style.setProperty("--fill", `${volume.value}%`);
		const soon = ["playing", "loading", "stalled"].includes(this.#state);
		this.#q(".unmute").hidden = !(blocked && soon && this.#hasSound) || this.muted;
		this.#q(".bar").hidden = this.getAttribute("controls") === "none";
		const full =
			document.fullscreenElement === this || this.matches(":fullscreen") || document.fullscreenElement !== null;
		this.#q(".full").innerHTML = full ? ICONS.shrink : ICONS.enlarge;
		this.#q(".full").setAttribute("aria-label", full ? "Leave full screen" : "Full screen");
		const open = this.hasAttribute("statistics");
		this.#panel.element.hidden = !open;
		this.#q(".statistics").setAttribute("aria-pressed", String(open));
		if (this.#state !== "playing") frame.classList.remove("idle");
		this.#renderLive();
	}
}

/** The slider's scale is logarithmic: 20 ms to 2 s. */
function toSlider(target: number): number {
	return (Math.log(target / MIN_TARGET) / Math.log(MAX_TARGET / MIN_TARGET)) * 100;
}

function fromSlider(x: number): number {
	const exact = MIN_TARGET * (MAX_TARGET / MIN_TARGET) ** (x / 100);
	const step = exact < 100 ? 5 : exact < 500 ? 10 : 50;
	return Math.min(MAX_TARGET, Math.max(MIN_TARGET, Math.round(exact / step) * step));
}

function words(delay: number): string {
	return delay < 1000 ? `${Math.round(delay)} ms behind` : `${(delay / 1000).toFixed(1)} s behind`;
}

/** Starts a module as a worker, from another site too. */
function newWorker(url: URL): Worker {
	if (url.origin === location.origin) return new Worker(url, { type: "module", name: "moq-player" });
	const blob = new Blob([`import ${JSON.stringify(url.href)};`], { type: "text/javascript" });
	return new Worker(URL.createObjectURL(blob), { type: "module", name: "moq-player" });
}
