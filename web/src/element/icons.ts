// Icons on a grid of 24, drawn with the text's colour.

const svg = (body: string): string =>
	`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">${body}</svg>`;

export const ICONS = {
	play: svg('<path d="M7 4.5v15l12.5-7.5z" fill="currentColor" stroke-width="1.4"/>'),
	pause: svg('<path d="M8 5v14M16 5v14" stroke-width="3.4"/>'),
	sound: svg(
		'<path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5z" fill="currentColor"/><path d="M15.5 9a4.2 4.2 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11"/>',
	),
	quiet: svg('<path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5z" fill="currentColor"/><path d="M15.5 9a4.2 4.2 0 0 1 0 6"/>'),
	muted: svg('<path d="M4 9.5v5h3.5L12 18.5v-13L7.5 9.5z" fill="currentColor"/><path d="m16 9.5 5 5m0-5-5 5"/>'),
	settings: svg(
		'<path d="M4 7h9M17.5 7H20M4 17h2.5M11 17h9"/><circle cx="15.2" cy="7" r="2.3"/><circle cx="8.8" cy="17" r="2.3"/>',
	),
	stats: svg('<path d="M4 19.5h16M6 15.5l4-5 3.5 3L19 6"/>'),
	enlarge: svg('<path d="M4.5 9V4.5H9M15 4.5h4.5V9M19.5 15v4.5H15M9 19.5H4.5V15"/>'),
	shrink: svg('<path d="M9 4.5V9H4.5M19.5 9H15V4.5M15 19.5V15h4.5M4.5 15H9v4.5"/>'),
	warning: svg('<path d="M12 4 2.8 19.5h18.4zM12 10v4.5M12 17v.2"/>'),
} as const;
