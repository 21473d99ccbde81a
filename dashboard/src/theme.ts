import { createTheme, type MantineColorsTuple } from '@mantine/core'

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
  primaryShade: { light: 8, dark: 7 },
  colors: { pulse },
  autoContrast: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace',
  headings: { fontWeight: '650' }
})
