import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const pulse: MantineColorsTuple = [
  '#e6f7fa',
  '#d3eaef',
  '#a7d4de',
  '#78bdcc',
  '#51a9bd',
  '#389db4',
  '#2897b0',
  '#17829a',
  '#0b7285',
  '#006477'
]

export const theme = createTheme({
  primaryColor: 'pulse',
  primaryShade: 8,
  colors: { pulse },
  autoContrast: true,
  // White or black, whichever has the contrast of 4.5 that WCAG asks for.
  luminanceThreshold: 0.179,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace',
  headings: { fontWeight: '650' }
})

/**
 * Mantine's dimmed text is too faint to read on white, and on the dark body; so is its red of
 * errors, and what stands on a quiet button that the pointer is over.
 */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-red-light-color': '#a51d1d',
    '--mantine-color-pulse-light-color': '#00505f'
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)'
  }
})
