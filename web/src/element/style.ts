/** The style inside <moq-player>. Pages change it by the custom properties that are named first. */
export const STYLE = `
:host {
	--accent: var(--moq-player-accent, #2dd4bf);
	--radius: var(--moq-player-radius, 12px);
	--aspect: 16 / 9;
	--panel: light-dark(#ffffff, #12161d);
	--panel-2: light-dark(#f4f6f9, #191f29);
	--line: light-dark(#dde2ea, #2a3240);
	--ink: light-dark(#10151d, #e8edf5);
	--ink-2: light-dark(#566273, #94a2b8);
	--good: light-dark(#0f766e, #2dd4bf);
	--better: light-dark(#7c3aed, #b794ff);
	--warm: light-dark(#b45309, #fbbf24);
	--bad: light-dark(#b91c1c, #f87171);
	display: block;
	color-scheme: inherit;
	font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
	color: var(--ink);
	container-type: inline-size;
}
:host([hidden]) { display: none; }
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button, input { font: inherit; color: inherit; }
svg { width: 22px; height: 22px; display: block; }

.frame {
	position: relative;
	overflow: hidden;
	aspect-ratio: var(--aspect);
	border-radius: var(--radius);
	background: #05070a;
	color: #fff;
	isolation: isolate;
	outline: none;
	user-select: none;
	-webkit-user-select: none;
}
.frame:focus-visible { box-shadow: 0 0 0 3px var(--accent); }
.frame.idle { cursor: none; }
canvas.screen { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; display: block; }
.frame:fullscreen { border-radius: 0; aspect-ratio: auto; width: 100vw; height: 100vh; }

/* What is wrong, or being waited for. */
.notice {
	position: absolute; inset: 0; display: grid; place-items: center; padding: 20px 20px 64px; text-align: center;
	background: rgb(5 7 10 / .72); backdrop-filter: blur(6px); animation: appear .25s ease-out;
}
.notice > div { max-width: 46ch; display: grid; justify-items: center; gap: 8px; }
.notice h2 { margin: 0; font-size: clamp(15px, 3.2cqi, 20px); font-weight: 620; letter-spacing: -.01em; text-wrap: balance; }
.notice p { margin: 0; color: #c4cedd; font-size: clamp(12.5px, 2.1cqi, 14px); text-wrap: pretty; overflow-wrap: anywhere; }
.notice svg { width: 30px; height: 30px; color: #fbbf24; }
.notice .again { display: inline-flex; gap: 8px; align-items: center; color: #9fb0c8; font-size: 12.5px; }
@keyframes appear { from { opacity: 0; } }

.spinner { position: absolute; inset: 0; display: grid; place-items: center; pointer-events: none; }
.ring { width: 44px; height: 44px; border-radius: 50%; border: 3px solid rgb(255 255 255 / .22); border-top-color: var(--accent); animation: turn .9s linear infinite; }
.again .ring { width: 14px; height: 14px; border-width: 2px; }
@keyframes turn { to { transform: rotate(1turn); } }
@media (prefers-reduced-motion: reduce) { .ring { animation-duration: 3s; } .notice { animation: none; } }

/* The middle button, while paused; and the one for sound, where the browser wants a click first. */
.big {
	position: absolute; inset: 0; margin: auto; width: 76px; height: 76px; border-radius: 50%; border: 0; cursor: pointer;
	display: grid; place-items: center; color: #fff; background: rgb(10 14 20 / .66); backdrop-filter: blur(10px);
	box-shadow: 0 6px 30px rgb(0 0 0 / .45), inset 0 0 0 1px rgb(255 255 255 / .16); transition: transform .15s, background .15s;
}
.big:hover { transform: scale(1.05); background: rgb(20 28 38 / .8); }
.big svg { width: 34px; height: 34px; }
.unmute {
	position: absolute; top: 14px; right: 14px; display: inline-flex; gap: 8px; align-items: center; cursor: pointer;
	border: 0; border-radius: 999px; padding: 8px 14px 8px 10px; color: #0b1015; background: #fff; font-weight: 600; font-size: 13px;
	box-shadow: 0 4px 18px rgb(0 0 0 / .4);
}
.unmute svg { width: 18px; height: 18px; }

.bar {
	position: absolute; inset: auto 0 0 0; display: flex; align-items: center; gap: 2px; padding: 34px 10px 8px;
	background: linear-gradient(to top, rgb(0 0 0 / .78), rgb(0 0 0 / .5) 45%, transparent);
	transition: opacity .2s; z-index: 2;
}
.frame.idle .bar { opacity: 0; }
.frame:focus-within .bar { opacity: 1; }
.bar button {
	display: grid; place-items: center; min-width: 40px; height: 40px; padding: 0 8px; border: 0; border-radius: 9px;
	background: transparent; color: #fff; cursor: pointer; flex: none;
}
.bar button:hover { background: rgb(255 255 255 / .16); }
.bar button:focus-visible, .big:focus-visible, .unmute:focus-visible, .volume:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.bar button[aria-expanded="true"], .bar button[aria-pressed="true"] { color: var(--accent); }
.bar .gap { flex: 1; min-width: 4px; }

.volume { width: 84px; height: 22px; margin: 0 8px 0 0; appearance: none; background: none; cursor: pointer; flex: none; --fill: 100%; }
.volume::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: linear-gradient(to right, #fff var(--fill), rgb(255 255 255 / .32) var(--fill)); }
.volume::-moz-range-track { height: 4px; border-radius: 2px; background: rgb(255 255 255 / .32); }
.volume::-moz-range-progress { height: 4px; border-radius: 2px; background: #fff; }
.volume::-webkit-slider-thumb { appearance: none; width: 13px; height: 13px; margin-top: -4.5px; border-radius: 50%; background: #fff; }
.volume::-moz-range-thumb { width: 13px; height: 13px; border: 0; border-radius: 50%; background: #fff; }

.live { display: inline-flex; align-items: center; gap: 8px; padding: 0 8px; font-size: 12.5px; white-space: nowrap; font-variant-numeric: tabular-nums; color: #dbe3ee; }
.live b { display: inline-flex; align-items: center; gap: 6px; font-weight: 680; letter-spacing: .05em; font-size: 11.5px; color: #fff; }
.live i { width: 8px; height: 8px; border-radius: 50%; background: #8b98aa; }
.live.on i { background: #f43f5e; box-shadow: 0 0 0 3px rgb(244 63 94 / .25); }

.menu {
	position: absolute; right: 10px; bottom: 60px; width: min(290px, calc(100% - 20px)); max-height: calc(100% - 72px); overflow: auto; z-index: 3;
	padding: 14px; border-radius: 12px; background: rgb(17 22 30 / .94); backdrop-filter: blur(14px); color: #e8edf5;
	box-shadow: 0 12px 40px rgb(0 0 0 / .5), inset 0 0 0 1px rgb(255 255 255 / .1); display: grid; gap: 14px; font-size: 13px;
}
.menu fieldset { border: 0; margin: 0; padding: 0; display: grid; gap: 2px; min-width: 0; }
.menu legend { padding: 0 0 6px; font-size: 11px; font-weight: 640; letter-spacing: .07em; text-transform: uppercase; color: #93a2b8; }
.menu label { display: flex; align-items: center; gap: 9px; padding: 6px 8px; border-radius: 8px; cursor: pointer; }
.menu label:hover { background: rgb(255 255 255 / .07); }
.menu label small { margin-left: auto; color: #93a2b8; font-variant-numeric: tabular-nums; }
.menu input[type="radio"], .menu input[type="checkbox"] { accent-color: var(--accent); width: 16px; height: 16px; margin: 0; flex: none; }
.menu input[type="range"] { width: 100%; accent-color: var(--accent); margin: 4px 0 0; }
.menu .ends { display: flex; justify-content: space-between; color: #93a2b8; font-size: 11.5px; }

/* The statistics, below the picture in the page's colours. */
.stats { margin-top: 12px; padding: 14px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--panel); }
.numbers { display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 1px; margin: 0 0 14px; border-radius: 9px; overflow: hidden; background: var(--panel-2); border: 1px solid var(--line); }
.numbers div { box-shadow: 0 0 0 1px var(--line); padding: 8px 11px; min-width: 0; }
.numbers dt { color: var(--ink-2); font-size: 11.5px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.numbers dd { margin: 1px 0 0; font-size: 15px; font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 18px 22px; }
figure { margin: 0; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 12px; margin-bottom: 4px; font-size: 12px; color: var(--ink-2); }
figcaption b { color: var(--ink); font-weight: 620; font-size: 13px; margin-right: auto; }
figcaption span { display: inline-flex; align-items: center; gap: 6px; font-variant-numeric: tabular-nums; }
figcaption span::before { content: ""; width: 12px; height: 3px; border-radius: 2px; background: var(--c); }
figcaption span.dash::before { background: repeating-linear-gradient(to right, var(--c) 0 3px, transparent 3px 5px); }
figure canvas { width: 100%; height: 132px; display: block; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@container (max-width: 560px) {
	.volume, .live .delay { display: none; }
	.bar { padding: 28px 4px 4px; }
	.charts { grid-template-columns: minmax(0, 1fr); }
	.stats { padding: 10px; }
	figcaption b { flex-basis: 100%; }
	.numbers { grid-template-columns: repeat(3, minmax(0, 1fr)); }
	.numbers div { padding: 7px 9px; }
	.numbers dd { font-size: 13.5px; }
	.notice { padding: 12px 14px 54px; }
	.notice > div { gap: 4px; }
	.notice svg { width: 22px; height: 22px; }
}
@media (hover: none) { .volume { display: none; } }
`;
